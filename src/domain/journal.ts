import type { CacheResult } from './answer-cache.ts'
import type { Awaitable } from '../util/awaitable.ts'
import type { Charge, TierSource } from './charge.ts'
import type { WantedResult } from './log-result.ts'
import type { RowKind } from './row-kind.ts'
import type { LogRow } from './shapes/log-row.ts'
import type { CostQuery, Costs, PlainCostQuery, RatedImages } from './costs.ts'
import type { UsageRow } from './shapes/usage-row.ts'
import type { VendorRow } from './shapes/vendor-row.ts'
import type { Micros } from '../util/units.ts'

/** Selects rows. Every given filter must match. */
export type LogMatch = {
  readonly id?: string
  readonly keyId?: string
  readonly user?: string
  readonly group?: string
  readonly model?: string
  readonly operation?: string
  readonly upstream?: string
  /** A status, or its class: `2xx`, `4xx`, `5xx`. */
  readonly status?: number | '2xx' | '3xx' | '4xx' | '5xx'
  readonly outcome?: LogRow['outcome']
  /** The result of the answer cache. */
  readonly cache?: CacheResult
  /** The result for the client, or every request that did not succeed. */
  readonly result?: WantedResult
  /** Whether the gateway itself answered. */
  readonly kind?: RowKind
  /** False: leaves out lookups. */
  readonly lookups?: false
  /** From this time (inclusive) to that (exclusive), in milliseconds since the epoch. */
  readonly since?: number
  readonly until?: number
  /** Ended at this time or later, whatever its start; for followers. */
  readonly endedFrom?: number
  /** One of its images was charged at this tier, or with this tier source. */
  readonly tier?: string
  readonly source?: TierSource
  /** Its charge counts this unit, such as `input`: usage that is not images. */
  readonly unit?: string
  /** Whether its charge was refunded, at least in part. */
  readonly refunded?: boolean
  /** True: an image was returned in another size than requested. */
  readonly otherSize?: boolean
  /** The requested size of images, as sent. */
  readonly size?: string
  /** The state of its charge. */
  readonly charge?: Charge['state']
  /** The end user and the tag, by name. */
  readonly endUser?: string
  readonly tag?: string
}

export type LogFilter = LogMatch & {
  readonly limit: number
  /** Selects rows older than this row. */
  readonly before?: string
  /** Selects rows newer than this row, the oldest of them first, so that a follower misses none. */
  readonly after?: string
}

/** Requests of one time step. */
export type LogStep = { readonly from: number; readonly requests: number; readonly errors: number }

/** The totals of the rows of a filter. */
export type LogTotals = {
  readonly requests: number
  /** Answered with status 400 or more, or incomplete. */
  readonly errors: number
  /** Settled charges, and the images in them. */
  readonly charges: number
  readonly images: number
  /** The charged amount, and the refunded part of it. */
  readonly sums: readonly { readonly currency: string; readonly amount: Micros; readonly refunded: Micros }[]
  /** Rows older than this time were not added, because one answer is limited; null if all were added. */
  readonly since: number | null
  /** The value of `before` for the remaining rows; null if all were returned. */
  readonly next: string | null
}

/** The activity between two times, without lookups. */
export type Summary = {
  readonly requests: number
  /** Answered with status 400 or more, or incomplete. */
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** The median and the 95th percentile of the durations, within a tenth; null if there were no requests. */
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  /** The charged amounts by currency, without refunds. */
  readonly spent: readonly { readonly currency: string; readonly amount: Micros }[]
  /** Images by tier. */
  readonly images: readonly { readonly tier: string; readonly count: number }[]
}

/** The durations and the times to first byte of one model and operation; null if none is known. */
export type LatencyRow = {
  readonly kind: RowKind
  readonly model: string | null
  readonly operation: string
  readonly requests: number
  /** Answered with status 400 or more, or incomplete. */
  readonly errors: number
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly firstByteP50Ms: number | null
  readonly firstByteP95Ms: number | null
}

export type UsageMatch = {
  readonly since: number
  readonly until: number
  readonly user?: string
  readonly keyId?: string
}

/** Dimensions of usage for which no sums are stored. */
export type UsageSort = 'group' | 'tier' | 'upstream'

/** Charged usage of one group, tier or upstream, in one currency. */
export type UsageSum = {
  readonly of: string
  readonly currency: string
  readonly requests: number
  readonly images: number
  /** The counted number of the tier's units, such as tokens; 0 for other dimensions. */
  readonly quantity: number
  /** As in the log; 0 by tier. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly amount: Micros
  readonly refunded: Micros
}

/** A request with its charges. `use`: the charge of its other usage, if its images have a charge of their own. */
export type LoggedRequest = { readonly row: LogRow; readonly charge: Charge | null; readonly use?: Charge | null }

export type Journal = {
  /** Rows are queued and written in groups; the call does not wait. */
  append(row: LogRow): void
  /** Newest first. */
  list(filter: LogFilter): Awaitable<readonly LoggedRequest[]>
  /** Requests by time steps of `stepMs`, oldest first; empty steps are left out. `since` and `until` are required. */
  histogram(match: LogMatch & { since: number; until: number }, stepMs: number): Awaitable<readonly LogStep[]>
  /**
   * The totals of all rows, or of the newest, with `before` for the remaining ones. Each row counts in exactly one
   * answer.
   */
  totals(match: LogMatch & { readonly before?: string }): Awaitable<LogTotals>
  summary(match: { readonly since: number; readonly until: number; readonly user?: string }): Awaitable<Summary>
  /** Durations within a tenth; rows with the most requests first. */
  latency(match: {
    readonly since: number
    readonly until: number
    readonly user?: string
  }): Awaitable<readonly LatencyRow[]>
  /** Charged usage by day, key and model, oldest first. */
  usage(match: UsageMatch): Awaitable<readonly UsageRow[]>
  /** The same by dimensions that require reading every charge, sorted by name. */
  usageBy(match: {
    readonly since: number
    readonly until: number
    readonly by: UsageSort
  }): Awaitable<readonly UsageSum[]>
  /** Sums of charges, exact at any time: charges that are not added up yet are included. */
  costs(query: CostQuery): Awaitable<Costs>
  /** Charged images whose tier did not come from the returned image. */
  rated(query: Pick<PlainCostQuery, 'since' | 'until' | 'where'>): Awaitable<readonly RatedImages[]>
  /**
   * Costs that vendors report, by day and model, oldest first. Models without reported costs in that time are left out.
   */
  vendorCosts(match: Pick<UsageMatch, 'since' | 'until'>): Awaitable<readonly VendorRow[]>
  /** Deletes at most `limit` rows older than `until`; returns their number. Charges are kept. */
  prune(until: number, limit: number): Awaitable<number>
}
