import type { StoredEvent } from './events.ts'

/** A refused sign-in. */
export type RefusedTry = {
  /** As typed. It is stored only if a user has this name: other text may be a password. */
  readonly name: string
  /** The client's address; for IPv6 its network. */
  readonly remote: string
  /** `password`, or the name of an issuer. */
  readonly way: string
}

/** Refused sign-ins of one hour with equal attributes. */
export type RefusedSignIns = {
  /** The start of the hour; all times here are milliseconds since the epoch. */
  readonly hour: number
  /** Null: no user has this name. */
  readonly name: string | null
  /** Null for the combined rest of an hour with very many refusals; then `name` and `way` are null too. */
  readonly remote: string | null
  readonly way: string | null
  readonly times: number
  readonly firstAt: number
  readonly lastAt: number
}

export type RefusedFilter = {
  readonly limit: number
  /** From `since` (inclusive) to `until` (exclusive), in whole hours. */
  readonly since?: number
  readonly until?: number
  readonly name?: string
  readonly remote?: string
}

/** A gateway that bills on the storage, from its last report. */
export type GatewaySeen = {
  readonly owner: string
  readonly host: string
  readonly startedAt: number
  /** Null for a version that does not report it, or before its first report. */
  readonly version: string | null
  readonly revision: string | null
  readonly isOwn: boolean
}

/** An alert that a person has dealt with, for all administrators. */
export type Dealt = { readonly alert: string; readonly by: string; readonly at: number }

/** The data for alerts. */
export type AlertsRead = {
  readonly events: readonly StoredEvent[]
  readonly dealt: readonly Dealt[]
  readonly newest: NewestStatus
}

/** The newest of the conditions that persist until a person acts. */
export type NewestStatus = {
  /** The latest time at which one of the charges under review came under review; null for none. */
  readonly review: number | null
  /** By webhook, the id of an event: the latest that was given up, or the first that waits, whichever is later. */
  readonly undelivered: ReadonlyMap<string, string>
}

/** The alerts for operators. */
export type WatchStore = {
  /** Counts a refusal in its hour. Keeps at most 200 rows per hour, and none older than 90 days. */
  refused(one: RefusedTry): Promise<void>
  /** The latest hour first, with the total number of matching rows. */
  listRefused(
    filter: RefusedFilter,
  ): Promise<{ readonly rows: readonly RefusedSignIns[]; readonly times: number; readonly count: number }>
  /**
   * The newest 100 events of each kind that may need a person (budget events of keys separately from others), and the
   * alerts that were dealt with.
   */
  alerts(): Promise<AlertsRead>
  /** Marks an alert as dealt with or not, and writes to the audit log. */
  deal(alert: string, isDealt: boolean, by: string): Promise<void>
  /** Publishes this gateway's version and revision for other gateways. */
  introduce(of: { readonly version: string; readonly revision: string }): Promise<void>
  gateways(): Promise<readonly GatewaySeen[]>
}
