import type { Awaitable } from './awaitable.ts'
import type { BudgetPeriod } from './budget.ts'
import type { Micros } from './units.ts'

export const keyStates = ['active', 'cooling', 'suspended'] as const
export type KeyState = (typeof keyStates)[number]
export const keyReasons = ['invalid', 'no_credit', 'operator', 'limited', 'model'] as const
export type KeyReason = (typeof keyReasons)[number]

/** How a key stands, or one model of it. */
export type KeyStanding = {
  readonly upstream: string
  readonly key: string
  /** The model that it stands so for; '' for all of them. */
  readonly model: string
  readonly hash: string
  readonly state: KeyState
  readonly reason: KeyReason | null
  /** What the vendor said, in its machine-readable words: `401 invalid_api_key`. */
  readonly code: string | null
  /** Milliseconds since the epoch, as are the others. */
  readonly since: number
  /** When it is asked, or looked after, again; null where only a person decides. */
  readonly until: number | null
  /** How often in a row it was limited, or was looked after in vain. */
  readonly tries: number
  readonly changedAt: number
}

/** What was spent by way of a key in one period; `from` is its beginning, 0 for all of its life. */
export type KeySpending = {
  readonly upstream: string
  readonly key: string
  readonly per: BudgetPeriod
  readonly from: number
  readonly spent: Micros
}

/** Where the states of vendors' keys are kept, for restarts and for other processes. */
export type VendorKeyStore = {
  list(): Awaitable<readonly KeyStanding[]>
  /** Of two that change one, the later `changedAt` stays. */
  put(standing: KeyStanding): Promise<void>
  spent(): Awaitable<readonly KeySpending[]>
  /** Adds to all of its life, and to the day and the month of `at`. */
  spend(spending: {
    readonly upstream: string
    readonly key: string
    readonly amount: Micros
    readonly at: number
  }): Promise<void>
}

/** Whether a key whose list of models this is serves one; `*` stands for the rest of a name. */
export function serves(models: readonly string[] | undefined, model: string): boolean {
  if (!models) return true
  return models.some(one => (one.endsWith('*') ? model.startsWith(one.slice(0, -1)) : one === model))
}
