/** The outcome of a request by its upstream's response: whether it was sold, and the consequence for the key. */
export const saleClasses = ['not_sold', 'unknown', 'final'] as const
export const keyEffects = ['none', 'invalid', 'no_credit', 'cooling', 'model', 'request'] as const
export type SaleClass = (typeof saleClasses)[number]
export type KeyEffect = (typeof keyEffects)[number]

/** A row of the table of outcomes. The first row that matches a response decides. */
export type OutcomeRow = {
  readonly status: readonly number[]
  /** The path of the code in the response, such as `error.code`; absent for the usual paths. */
  readonly at?: string
  /** Machine-readable words of the vendor; absent if the status alone decides. */
  readonly codes?: readonly string[]
  /** Complete messages of a vendor without a code for this outcome: the exact `error.message`. */
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
  /** `request`: this request exceeds the key's capacity; the key may serve others. */
  readonly key: KeyEffect
  /** The body of a request can cause it, so it counts for the key only after a different request was refused too. */
  readonly confirm?: boolean
}

/** `wanted > limit`: two numbers, each by its name or as digits. */
export const wherePattern = '^(\\w+) > (\\w+)$'

/** Vendors' messages about an invalid key without a code, such as the close of a WebSocket. */
export const invalidKeySentences: readonly string[] = [
  'API key not valid. Please pass a valid API key.',
  'API Key not found. Please pass a valid API key.',
  'API key expired. Please renew the API key.',
  'Your API key was reported as leaked. Please use another API key.',
]

/** Vendors' complete messages about spent credit without a code: a client cannot cause a complete message. */
export const noCreditSentences: readonly string[] = [
  'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
]
