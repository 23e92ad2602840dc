/** What a request was, as an upstream's answer tells it: whether it was sold, and what that says of the key. */
export const saleClasses = ['not_sold', 'unknown', 'final'] as const
export const keyEffects = ['none', 'invalid', 'no_credit', 'cooling', 'model'] as const
export type SaleClass = (typeof saleClasses)[number]
export type KeyEffect = (typeof keyEffects)[number]

/** One row of the table of outcomes: the first that fits an answer says what it means. */
export type OutcomeRow = {
  readonly status: readonly number[]
  /** Where the code stands in the answer, by a path such as `error.code`; the usual places when absent. */
  readonly at?: string
  /** Machine-readable words of the vendor; absent where the status alone says it. */
  readonly codes?: readonly string[]
  /** What has to be there beside: a hint how long to wait, or any machine-readable word; `bare`: nothing but a message. */
  readonly when?: 'wait' | 'code' | 'bare'
  /** `not_sold`: another may be asked. `unknown`: it may have been. `final`: the answer is the caller's. */
  readonly class: SaleClass
  readonly key: KeyEffect
}
