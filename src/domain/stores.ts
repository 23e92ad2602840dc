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

/** A client's idempotency key, and a fingerprint of its request to detect a different request with the same key. */
export type Idempotency = {
  readonly key: string
  /** Hex SHA-256 of the canonical fields and the files' hashes. */
  readonly fingerprint: string
}

export type HoldRequest = {
  readonly facts: ChargeFacts
  readonly hold: Micros
  readonly idempotency: Idempotency | null
  /** The accounts besides the key that limit it; by default those from `chargeFacts`. */
  readonly levels?: readonly Level[]
}

export type HoldResult =
  | { readonly kind: 'held' }
  /** A budget has too little left for the hold. `renewsAt`: the next renewal of a budget with a calendar period. */
  | {
      readonly kind: 'overdrawn'
      /** The number of days of a rolling budget; the earliest drops out at `renewsAt`. */
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
  /** The idempotency key is in use: by a running request, by a different request, or by one that has ended. */
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
 * Stores charges. Every promise resolves once the commit is durable, and rejects if that is unknown. Transitions
 * change a charge only while it is `reserved` and belongs to this process. False means that it was not, so the caller
 * must not release anything.
 */
export type Ledger = {
  hold(request: HoldRequest): Promise<HoldResult>
  /**
   * Adds one line, once: a second call with the same index does nothing and returns true. `upstream`: the seller, if
   * it was unknown at the hold; after the death of this gateway, another process ends the charge with it.
   */
  line(chargeId: string, line: ChargeItem, upstream?: string): Promise<boolean>
  /** Ends a charge that has lines: the amount is the sum of the lines, and the rest of the hold is released. */
  settle(settlement: Settlement): Promise<boolean>
  /**
   * Books a charge whose amount is known only afterwards: opens and settles it in one step, or settles one that a hold
   * has opened. It is queued and written in groups, and the caller does not wait: a crash loses at most the queue.
   * Without lines there is no charge. Once per id. `find` returns it at once. `vendorCost`: the cost that the upstream
   * reports.
   */
  post(facts: ChargeFacts, lines: readonly ChargeItem[], delivery: Settlement['delivery'], vendorCost?: Micros): void
  /**
   * Ends a charge without lines: nothing was bought. Its idempotency key can be used again. `vendorCost`: a cost that
   * the upstream reports anyway.
   */
  void(id: string, reason: string, vendorCost?: Micros): Promise<boolean>
  /**
   * Leaves a charge without lines for review, because the purchase is uncertain: a person or the configuration
   * decides.
   */
  review(id: string, reason: string, about?: Review): Promise<boolean>
  /** Records that the client received the complete response, for information. */
  delivered(id: string): void
  find(id: string): Awaitable<Charge | undefined>
  /** False while commits fail: billable requests are refused before an upstream is called. */
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
  /** Purges of cached answers. */
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
  /** Open charges of dead gateways, while no gateway runs: the next start ends them. */
  readonly left: number
  readonly problems: readonly string[]
  /** Differences between the sums of costs and the charges; `replay --rebuild-sums` computes the sums again. */
  readonly sums: readonly string[]
  /**
   * The number of keys, users, groups and balances that differ from their charges, as `problems` reports; `replay
   * --rebuild-sums` corrects them.
   */
  readonly budgets: number
}

/** The correction of a payer's sums that makes them equal to its charges; micro-units. */
export type BudgetCorrection = {
  readonly payer: { readonly kind: 'key' | LevelKind; readonly name: string }
  /** The text of an audit finding about it. */
  readonly problems: readonly string[]
  readonly spent: number
  readonly held: number
  /** The correction of the current day and month, with their start. */
  readonly day: { readonly start: number; readonly spent: number }
  readonly month: { readonly start: number; readonly spent: number }
}

/**
 * The end of a chain of entries at some time: its last entry and the hash of that entry, which covers all earlier
 * ones.
 */
export type ChainEnd = { readonly chain: string; readonly position: number; readonly head: string }

/**
 * The ends of the ledger's chains at some time. Stored outside the database, they later prove that nothing was removed
 * or rewritten.
 */
export type Anchor = {
  /** ISO 8601. */
  readonly time: string
  /** The id of the database; copies have the same. */
  readonly database: string
  readonly chains: readonly ChainEnd[]
}

/** Options for a charge that is left for review. */
export type Review = {
  /** The hold is released, unless it is `kept` until a person decides. */
  readonly hold?: 'kept' | 'released'
  /** The charge may have lines, which are an estimate: they are booked if it is settled, but not if it is voided. */
  readonly lined?: boolean
  /** The upstream that was called last. */
  readonly upstream?: string | undefined
  /** The cost that the upstream reports. */
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

/** An open storage, for the gateway, the command line and the console. */
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
  /** For commands that run next to a gateway on the same storage. */
  readonly books: {
    all(after: string | null, limit: number): Awaitable<readonly Charge[]>
    /** Verifies the books, and that they continue earlier anchors. */
    verify(anchors?: readonly Anchor[]): Awaitable<Audit>
    /**
     * Runs the next step of a rebuild of the sums of costs, even while a gateway runs; to be repeated until `isDone`.
     * `from`: the result of the previous step; without it, an interrupted rebuild continues.
     */
    rebuildCosts(from?: RebuildState): Promise<RebuildState>
    /**
     * Sets the spent and held sums of keys, users, groups and balances to the sums of their charges, even while a
     * gateway runs.
     * @returns the corrections; undefined, without any correction, if the charges themselves have problems
     */
    repairBudgets(by: string): Promise<readonly BudgetCorrection[] | undefined>
    /** The current end of every chain of entries. */
    anchor(): Awaitable<Anchor>
    /**
     * The current sums of users, balances and groups: the named ones, or all. `periods`: windows to include besides
     * the day and the month.
     */
    levels(of?: readonly LevelName[], periods?: readonly BudgetPeriod[]): Awaitable<readonly LevelSums[]>
    /** The same for end users with spent or held amounts, with their names; at most the 10,000 that spent last. */
    endUsers(periods?: readonly BudgetPeriod[]): Awaitable<readonly NamedSums[]>
    /** The charges and refunds between two times, by payer, compared with the entries. */
    statement(query: StatementQuery): Awaitable<Statement>
    /** The totals of unfinished charges. */
    open(): Awaitable<readonly OpenCharges[]>
    /**
     * Ends a charge under review. `amount`: the cost of a settled one, at most its hold; 0 by default. False if it is
     * not under review, or held less.
     */
    resolve(id: string, how: 'settle' | 'void', by: string, reason: string, amount?: Micros): Promise<boolean>
    /** Voids charges that have been under review since `until` or earlier, in batches; returns the number. */
    lapse(until: number): Promise<number>
    /** The refunds of a charge, oldest first, with authors and reasons. */
    refundsOf(id: string): Awaitable<readonly Refund[]>
    /**
     * Books an opposite entry for the charged amount that is not yet refunded, or for a part of it. Returns the
     * refunded micro-units; 0 if less was left.
     */
    refund(id: string, by: string, reason: string, part?: PartialRefund): Promise<Micros>
    /** Refunds a charge and books it again at other prices; false if it was already refunded or repriced. */
    reprice(repricing: Repricing): Promise<boolean>
  }
  /** The number of pending writes: changes with a waiting caller, log rows, and charges without a waiting caller. */
  waiting(): { readonly changes: number; readonly rows: number; readonly charges: number }
  /** Resolves once everything queued so far is durable. */
  flush(): Promise<void>
  /**
   * Writes pending work and closes. Charges wait for the end of an outage, for 10 s, or for `waitMs` if that is longer.
   * @throws StorageError `charges_unwritten` if there are charges that could not be written; the log contains each
   */
  close(options?: { readonly waitMs?: number }): Promise<void>
}
