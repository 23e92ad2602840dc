import type { PurgeStore } from './answer-cache.ts'
import type { PartialRefund, Refund } from './refund.ts'
import type { Repricing } from './reprice.ts'
import type { Awaitable } from '../util/awaitable.ts'
import type { Charge, ChargeFacts, ChargeItem } from './charge.ts'
import type { ConfigHistory } from './config-history.ts'
import type { Counters } from './counters.ts'
import type { JobStore } from './jobs.ts'
import type { EventStore } from './events.ts'
import type { Journal } from './journal.ts'
import type { KeyStore } from './keys.ts'
import type { StoredAnswer } from './reply.ts'
import type { BudgetPeriod } from './budget-period.ts'
import type { LevelKind } from './budget.ts'
import type { LabelStore } from './labels.ts'
import type { Level, LevelName, LevelSums, NamedSums } from './levels.ts'
import type { Micros } from '../util/units.ts'
import type { Statement, StatementQuery } from './statement.ts'
import type { LiveSessionStore } from './live-sessions.ts'
import type { ObjectStore } from './stored-objects.ts'
import type { SignInStore } from './sign-in.ts'
import type { SessionStore, Trail, UserStore } from './users.ts'
import type { AdminTokenStore } from './admin-tokens.ts'
import type { ViewStore } from './saved-views.ts'
import type { VendorKeyStore } from './vendor-keys.ts'
import type { WatchStore } from './watch.ts'

/** A client's statement that two requests are the same. */
export type Idempotency = {
  readonly key: string
  /** Hex SHA-256 of the canonical fields and the files' hashes. */
  readonly fingerprint: string
}

export type HoldRequest = {
  readonly facts: ChargeFacts
  readonly hold: Micros
  readonly idempotency: Idempotency | null
  /** The accounts besides the key that limit it; by default those that `chargeFacts` has found. */
  readonly levels?: readonly Level[]
}

export type HoldResult =
  | { readonly kind: 'held' }
  /** A budget has too little left for the hold; `renewsAt` is when one for a day or a month renews. */
  | {
      readonly kind: 'overdrawn'
      /** For a rolling budget, the number of days; the earliest drops out at `renewsAt`. */
      readonly lastDays?: number
      /** The owner of the budget. */
      readonly level: 'key' | LevelKind
      /** The end user, for a budget of one. */
      readonly called?: string
      readonly availableMicros: Micros
      /** Held by running requests, and by charges under review. */
      readonly heldMicros: Micros
      readonly renewsAt: number | null
    }
  /** The idempotency key is in use: by a running request, by another request, or by one that has ended. */
  | { readonly kind: 'running'; readonly chargeId: string }
  | { readonly kind: 'mismatch'; readonly chargeId: string }
  | { readonly kind: 'ended'; readonly chargeId: string; readonly answer: StoredAnswer | null }

export type Settlement = {
  readonly id: string
  readonly delivery: 'unconfirmed' | 'partial' | 'confirmed'
  readonly reason: string | null
  /** The cost that the upstream reports, if it does. */
  readonly vendorCost?: Micros
  /** The upstream, if it was unknown when the money was held. */
  readonly upstream?: string | undefined
  /** Stored for the idempotency key, if there is one. */
  readonly answer?: StoredAnswer
}

/**
 * Charges. Every promise resolves once the commit is durable, and rejects if that is unknown. Transitions change a
 * charge only while it is `reserved` and belongs to this process; false means that it was not, and nothing may be
 * released.
 */
export type Ledger = {
  hold(request: HoldRequest): Promise<HoldResult>
  /**
   * Adds one line, once: a second call with the same index does nothing and returns true. `upstream`: the seller, if it
   * was unknown at the hold; the process that ends the charge of a dead gateway reads it from there.
   */
  line(chargeId: string, line: ChargeItem, upstream?: string): Promise<boolean>
  /** Ends a charge that has lines: amount = Σ lines, rest of the hold released. */
  settle(settlement: Settlement): Promise<boolean>
  /**
   * A charge whose amount is known only afterwards, opened and settled in one step, or settled where a hold has opened
   * it; queued and written in groups, and the caller does not wait: a crash loses at most what was queued. No lines make no charge.
   * Once per id. `find` knows it at once. `vendorCost`: what the upstream reports that it charges.
   */
  post(facts: ChargeFacts, lines: readonly ChargeItem[], delivery: Settlement['delivery'], vendorCost?: Micros): void
  /**
   * Ends a charge without lines: nothing was bought. Its idempotency key can be used again. `vendorCost`: the cost that
   * the upstream reports nevertheless.
   */
  void(id: string, reason: string, vendorCost?: Micros): Promise<boolean>
  /** It is unknown what was bought, and there are no lines: a person or the configuration decides. */
  review(id: string, reason: string, about?: Review): Promise<boolean>
  /** The client received the complete response; informational. */
  delivered(id: string): void
  find(id: string): Awaitable<Charge | undefined>
  /** False when commits fail: billable requests are refused before an upstream is called. */
  healthy(): boolean
  /** The reason, if known: `only 120 MiB are free on the disk`. */
  trouble?(): string | undefined
}

export type Stores = {
  readonly keys: KeyStore
  readonly ledger: Ledger
  readonly journal: Journal
  readonly counters: Counters
  readonly jobs: JobStore
  readonly objects: ObjectStore
  readonly labels: LabelStore
  /** The cached answers that are no longer used. */
  readonly answers: PurgeStore
}

/** Charges of one state and currency that have not ended. */
export type OpenCharges = {
  readonly state: 'reserved' | 'needs_review'
  readonly currency: string
  readonly count: number
  /** The held amount. */
  readonly hold: Micros
}

/** The result of a verification; `problems` is empty when every invariant holds. */
export type Audit = {
  readonly charges: number
  readonly lines: number
  readonly entries: number
  /** Open charges of dead gateways while no gateway runs: the next start ends them. */
  readonly left: number
  readonly problems: readonly string[]
  /** Where the sums of costs are not what the charges come to; `replay --rebuild-sums` makes them again. */
  readonly sums: readonly string[]
  /** How many keys, users, groups and balances differ from their charges, as `problems` reports; `replay --rebuild-sums` corrects them. */
  readonly budgets: number
}

/** The correction of a payer's sums that makes them equal to its charges; micro-units. */
export type BudgetCorrection = {
  readonly payer: { readonly kind: 'key' | LevelKind; readonly name: string }
  /** The text of an audit finding about it. */
  readonly problems: readonly string[]
  readonly spent: number
  readonly held: number
  /** Of the day and the month that are now, by their names. */
  readonly day: { readonly start: number; readonly spent: number }
  readonly month: { readonly start: number; readonly spent: number }
}

/** The end of a chain of entries at some time: its last entry and the hash of that, which covers all before it. */
export type ChainEnd = { readonly chain: string; readonly position: number; readonly head: string }

/** The totals of the ledger at some time. Stored elsewhere, they later prove that nothing was removed or rewritten. */
export type Anchor = {
  /** ISO 8601. */
  readonly time: string
  /** The id of the database; copies have the same. */
  readonly database: string
  readonly chains: readonly ChainEnd[]
}

/** Options for a charge that is left for review. */
export type Review = {
  /** The hold is released, unless it is `kept`: then it stays until a person has decided. */
  readonly hold?: 'kept' | 'released'
  /** It may have lines, which are an estimate: they are booked when it is settled, and are not when it is voided. */
  readonly lined?: boolean
  /** The upstream that was called last. */
  readonly upstream?: string | undefined
  /** What the upstream reports that it charges. */
  readonly vendorCost?: Micros | undefined
}

/** The progress of rebuilding the sums of costs, in positions of the ledger. */
export type RebuildState = {
  readonly isDone: boolean
  readonly added: number
  readonly all: number
  /** The position up to which old sums have been removed. */
  readonly cleared: number
}

/** An open store: used by the gateway, the command line and the console. */
export type Storage = Omit<Stores, 'counters'> & {
  readonly users: UserStore
  readonly sessions: SessionStore
  readonly views: ViewStore
  readonly adminTokens: AdminTokenStore
  readonly signIn: SignInStore
  readonly trail: Trail
  readonly configs: ConfigHistory
  readonly vendorKeys: VendorKeyStore
  readonly liveSessions: LiveSessionStore
  readonly events: EventStore
  readonly watch: WatchStore
  /** For commands that run next to a gateway. */
  readonly books: {
    all(after: string | null, limit: number): Awaitable<readonly Charge[]>
    /** Verifies the books, and that they continue earlier anchors. */
    verify(anchors?: readonly Anchor[]): Awaitable<Audit>
    /**
     * The next step of a rebuild of the sums that costs are read from, next to a gateway that may be running: until `isDone`.
     * `from` is the result of the step before; without it, an interrupted rebuild goes on.
     */
    rebuildCosts(from?: RebuildState): Promise<RebuildState>
    /**
     * Sets what keys, users, groups and balances have spent and hold to the sums of their charges, next to a gateway that may be running.
     * @returns what was corrected; undefined, and nothing was, where the charges are not sound themselves
     */
    repairBudgets(by: string): Promise<readonly BudgetCorrection[] | undefined>
    /** Where every chain of entries ends now. */
    anchor(): Awaitable<Anchor>
    /**
     * What users, balances and groups have spent by now: those that are named, or all. `periods`: besides the day and the
     * month, windows in which it is wanted.
     */
    levels(of?: readonly LevelName[], periods?: readonly BudgetPeriod[]): Awaitable<readonly LevelSums[]>
    /** The same of end users who have spent or held anything, with their names; of 10,000 that spent last. */
    endUsers(periods?: readonly BudgetPeriod[]): Awaitable<readonly NamedSums[]>
    /** The charges and refunds from one moment and before another, by payer, compared with the entries. */
    statement(query: StatementQuery): Awaitable<Statement>
    /** The totals of unfinished charges. */
    open(): Awaitable<readonly OpenCharges[]>
    /**
     * Ends a charge that needs review. `amount` is what a settled one costs, at most its hold; nothing by default. False when
     * it needs none, or held less.
     */
    resolve(id: string, how: 'settle' | 'void', by: string, reason: string, amount?: Micros): Promise<boolean>
    /** Voids charges that have been under review since `until` or earlier, in batches; returns the number. */
    lapse(until: number): Promise<number>
    /** The refunds of a charge, oldest first, with authors and reasons. */
    refundsOf(id: string): Awaitable<readonly Refund[]>
    /**
     * An opposite entry for what was charged and not yet refunded, or for a part of it; returns the micros given back, 0 when
     * not as much was left.
     */
    refund(id: string, by: string, reason: string, part?: PartialRefund): Promise<Micros>
    /** Refunds a charge and books it again at other prices; false if it was already refunded or repriced. */
    reprice(repricing: Repricing): Promise<boolean>
  }
  /** The number of pending writes: changes with a waiting caller, log rows, charges without a waiting caller. */
  waiting(): { readonly changes: number; readonly rows: number; readonly charges: number }
  /** Everything queued so far is durable. */
  flush(): Promise<void>
  close(): Promise<void>
}
