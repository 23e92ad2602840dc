import type { StoredEvent } from './events.ts'

/** A refused sign-in. */
export type RefusedTry = {
  /** As typed. It is stored only if a user has this name: otherwise it may have been a password. */
  readonly name: string
  /** The address, or of IPv6 the network, that it came from. */
  readonly remote: string
  /** `password`, or the name of an issuer. */
  readonly way: string
}

/** Refused sign-ins of one hour with equal attributes. */
export type RefusedSignIns = {
  /** When the hour began; milliseconds since the epoch, as all moments here. */
  readonly hour: number
  /** Null: no user has this name. */
  readonly name: string | null
  /** Null: of an hour with very many, the rest is one row; `name` and `way` are null then, too. */
  readonly remote: string | null
  readonly way: string | null
  readonly times: number
  readonly firstAt: number
  readonly lastAt: number
}

export type RefusedFilter = {
  readonly limit: number
  /** From this moment on, and before that one, in whole hours. */
  readonly since?: number
  readonly until?: number
  readonly name?: string
  readonly remote?: string
}

/** A gateway that bills on the storage, by its last report. */
export type GatewaySeen = {
  readonly owner: string
  readonly host: string
  readonly startedAt: number
  /** Null for a version that does not report it, or before its first report. */
  readonly version: string | null
  readonly revision: string | null
  readonly isOwn: boolean
}

/** A person has dealt with an alert, for all. */
export type Dealt = { readonly alert: string; readonly by: string; readonly at: number }

/** The data for alerts. */
export type AlertsRead = {
  readonly events: readonly StoredEvent[]
  readonly dealt: readonly Dealt[]
  readonly newest: NewestStatus
}

/** The newest of the conditions that last until a person acts. */
export type NewestStatus = {
  /** When a charge last came under review of those that are; null for none. */
  readonly review: number | null
  /** By webhook, the id of an event: the latest that was given up, or else the first that waits, whichever is later. */
  readonly undelivered: ReadonlyMap<string, string>
}

/** The alerts for operators. */
export type WatchStore = {
  /** Counts it in its hour: at most 200 rows an hour, and none older than 90 days. */
  refused(one: RefusedTry): Promise<void>
  /** The latest hour first, with how many the filter has in all. */
  listRefused(
    filter: RefusedFilter,
  ): Promise<{ readonly rows: readonly RefusedSignIns[]; readonly times: number; readonly count: number }>
  /** Of each kind that may need a person the newest 100 events, of budgets those of keys apart from others, and what has been dealt with. */
  alerts(): Promise<AlertsRead>
  /** Marks an alert as dealt with, or takes that back; in the audit trail too. */
  deal(alert: string, isDealt: boolean, by: string): Promise<void>
  /** Publishes what this gateway runs, for others. */
  introduce(of: { readonly version: string; readonly revision: string }): Promise<void>
  gateways(): Promise<readonly GatewaySeen[]>
}
