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

/** Which rows are meant; every word given must hold. */
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
  /** What the answer cache did. */
  readonly cache?: CacheResult
  /** How it ended for its caller, or every request that did not succeed. */
  readonly result?: WantedResult
  /** Whether the gateway itself answered. */
  readonly kind?: RowKind
  /** False: what was looked up is left out. */
  readonly lookups?: false
  /** From this moment, and before that one; milliseconds since the epoch. */
  readonly since?: number
  readonly until?: number
  /** Ended at this moment or later, whenever it began: for followers. */
  readonly endedFrom?: number
  /** One of its images was billed at this tier, or by this source. */
  readonly tier?: string
  readonly source?: TierSource
  /** Its charge counts this unit, such as `input`: what is priced by how many, and is no image. */
  readonly unit?: string
  /** Whether something of its charge was given back. */
  readonly refunded?: boolean
  /** True: an image came back in another size than requested. */
  readonly otherSize?: boolean
  /** The requested size of images, as it was sent. */
  readonly size?: string
  /** The state of its charge. */
  readonly charge?: Charge['state']
  /** By name. */
  readonly endUser?: string
  readonly tag?: string
}

export type LogFilter = LogMatch & {
  readonly limit: number
  /** Older than this row. */
  readonly before?: string
  /** Newer than this row; with it the oldest of those come first kept, so that a tail misses none. */
  readonly after?: string
}

/** Requests of one step of time. */
export type LogStep = { readonly from: number; readonly requests: number; readonly errors: number }

/** What the rows of a filter come to. */
export type LogTotals = {
  readonly requests: number
  /** Answered with 400 or more, or not wholly. */
  readonly errors: number
  /** Settled ones, and the images that they are of. */
  readonly charges: number
  readonly images: number
  /** What they were charged, and what was given back of that. */
  readonly sums: readonly { readonly currency: string; readonly amount: Micros; readonly refunded: Micros }[]
  /** Where one answer looks at no more: rows that are older than this moment were not added. Null where all were. */
  readonly since: number | null
  /** The value of `before` for the others; null where all were returned. */
  readonly next: string | null
}

/** What came to pass between two moments; lookups are left out. */
export type Summary = {
  readonly requests: number
  /** Answered with 400 or more, or not wholly. */
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Half of the requests took at most so long, and 95 of 100, within a tenth; null when there were none. */
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  /** What was charged, by currency; what was given back of it is not taken off. */
  readonly spent: readonly { readonly currency: string; readonly amount: Micros }[]
  /** Images by tier. */
  readonly images: readonly { readonly tier: string; readonly count: number }[]
}

/** How long requests of one model and operation took, and the first byte of their answers; null where none is known. */
export type LatencyRow = {
  readonly kind: RowKind
  readonly model: string | null
  readonly operation: string
  readonly requests: number
  /** Answered with 400 or more, or not wholly. */
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

/** What use can be added up by that no sums are kept of. */
export type UsageSort = 'group' | 'tier' | 'upstream'

/** Charged use of one group, tier or upstream, in one currency. */
export type UsageSum = {
  readonly of: string
  readonly currency: string
  readonly requests: number
  readonly images: number
  /** Of what a tier names, such as tokens; 0 by anything else. */
  readonly quantity: number
  /** As the log has them; 0 by tier. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly amount: Micros
  readonly refunded: Micros
}

export type Journal = {
  /** Queued and written in groups, without waiting. */
  append(row: LogRow): void
  /** Newest first, each with its charge when it has one. */
  list(filter: LogFilter): Awaitable<readonly { readonly row: LogRow; readonly charge: Charge | null }[]>
  /** Requests by steps of `stepMs`, oldest first; steps without any are left out. `since` and `until` are needed. */
  histogram(match: LogMatch & { since: number; until: number }, stepMs: number): Awaitable<readonly LogStep[]>
  /** What rows come to: all of them, or the newest, with `before` for the others. Each is in one answer. */
  totals(match: LogMatch & { readonly before?: string }): Awaitable<LogTotals>
  summary(match: { readonly since: number; readonly until: number; readonly user?: string }): Awaitable<Summary>
  /** Within a tenth; those with the most requests first. */
  latency(match: {
    readonly since: number
    readonly until: number
    readonly user?: string
  }): Awaitable<readonly LatencyRow[]>
  /** Charged use by day, key and model, oldest first. */
  usage(match: UsageMatch): Awaitable<readonly UsageRow[]>
  /** The same by what every charge has to be looked at for, by name. */
  usageBy(match: {
    readonly since: number
    readonly until: number
    readonly by: UsageSort
  }): Awaitable<readonly UsageSum[]>
  /** What charges came to: exact at every moment, whatever has been added up. */
  costs(query: CostQuery): Awaitable<Costs>
  /** Images whose tier did not come from what came back, as they were charged. */
  rated(query: Pick<PlainCostQuery, 'since' | 'until' | 'where'>): Awaitable<readonly RatedImages[]>
  /**
   * The costs that vendors report, by day and model, oldest first. Models whose vendors reported none in that time are left
   * out.
   */
  vendorCosts(match: Pick<UsageMatch, 'since' | 'until'>): Awaitable<readonly VendorRow[]>
  /** Deletes at most `limit` rows older than `until`; returns their number. Charges stay. */
  prune(until: number, limit: number): Awaitable<number>
}
