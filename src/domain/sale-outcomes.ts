/** The outcome of a request by its upstream's response: whether it was sold, and the consequence for the key. */
export const saleClasses = ['not_sold', 'unknown', 'final'] as const
export const keyEffects = ['none', 'invalid', 'no_credit', 'cooling', 'model', 'request'] as const
export type SaleClass = (typeof saleClasses)[number]
export type KeyEffect = (typeof keyEffects)[number]

/** One row of the table of outcomes: the first that matches a response decides. */
export type OutcomeRow = {
  readonly status: readonly number[]
  /** The path of the code in the response, such as `error.code`; the usual places when absent. */
  readonly at?: string
  /** Machine-readable words of the vendor; absent if the status alone decides. */
  readonly codes?: readonly string[]
  /** Messages of a vendor without a code for it: the whole `error.message`, word for word. */
  readonly says?: readonly string[]
  /** Parts of a message, case-insensitive; `{name}` matches a number. The message must contain one of them. */
  readonly mentions?: readonly string[]
  /** Conditions on the numbers of `mentions`: `left > 0`, `wanted > limit`. */
  readonly where?: string
  /**
   * Further properties of the response: a `Retry-After` hint, or any machine-readable word; `bare`: nothing but a
   * message.
   */
  readonly when?: 'wait' | 'code' | 'bare'
  /**
   * `not_sold`: another key or upstream may be tried. `unknown`: it may have been sold. `final`: the client gets the
   * response.
   */
  readonly class: SaleClass
  /** `request`: this request is too much for the key, which may serve others. */
  readonly key: KeyEffect
  /** The body of one request can cause it: it counts for the key only once a different request is refused too. */
  readonly confirm?: boolean
}

/** `wanted > limit`: two numbers, each by its name or as digits. */
export const wherePattern = '^(\\w+) > (\\w+)$'

/** Vendor words about a key in messages without a code, such as the close of a WebSocket. */
export const invalidKeySentences: readonly string[] = [
  'API key not valid. Please pass a valid API key.',
  'API Key not found. Please pass a valid API key.',
  'API key expired. Please renew the API key.',
  'Your API key was reported as leaked. Please use another API key.',
]

/** Whole messages of vendors without a code for spent credit: a client cannot cause a whole message. */
export const noCreditSentences: readonly string[] = [
  'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
]
