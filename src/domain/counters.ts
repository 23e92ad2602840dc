import type { Awaitable } from '../util/awaitable.ts'
import type { SharedTexts } from './answer-cache.ts'
import { brand } from '../util/brand.ts'

/** A window counts the last 60 seconds. */
export const windowMs = 60_000

/** A demand: the amount that a request takes from one limit. */
export type LimitRequest = {
  /**
   * The id of the counter. Demands with the same id are counted together, whatever the limit of each. Each id always
   * has the same owner.
   */
  readonly id: string
  /** The owner of the limit (`user anna`, `model alpha`). Limits of one owner are stored together. */
  readonly owner?: string
  /** `window`: amounts within any 60 seconds. `places`: requests in flight, each until it ends. */
  readonly kind: 'window' | 'places'
  readonly limit: number
  /** A whole number: 1 for requests and slots, an estimate for tokens. 0 reads the limit and takes nothing. */
  readonly amount: number
  /** Counts only, and never refuses. */
  readonly shadow: boolean
}

/** The state of a limit. */
export type LimitStatus = {
  /** The remaining amount, after this demand. */
  readonly remaining: number
  /** Whole milliseconds until the demand could be met, as of before it took anything; 0 if it could be met at once. */
  readonly waitMs: number
  /**
   * Milliseconds until the whole limit is free again, without further requests; 0 for slots, whose ends are not known.
   */
  readonly resetMs: number
}

/**
 * The taken amounts. A ticket with only some of its demands (`{ ...ticket, demands }`) is valid too: a slot may end
 * before the others. Each demand of a ticket is settled at most once.
 */
export type Ticket = { readonly stamp: number; readonly demands: readonly LimitRequest[] }

export type LimitReservation = {
  /** Undefined if one of the limits was full. Then nothing was taken from any of them. */
  readonly ticket: Ticket | undefined
  /** One for each demand, in their order. */
  readonly standings: readonly LimitStatus[]
}

/** The fallback while a shared store is unreachable: count within this process, or refuse every request. */
export type WhenDown = 'local' | 'refuse'

/** The shared store of the counters is unreachable, and there is no fallback. */
export class CountersDown extends Error {
  static {
    brand(this, 'CountersDown')
  }
}

/**
 * Stores the counters. Memory counts within one process, at once; a shared store counts for several, after a round
 * trip.
 */
export type Counters = {
  /**
   * The state of the limits without a call to a shared store. For memory, it is always known. For a shared store, only
   * limits that this process has filled alone are known as full, and its own counts while the store is unreachable.
   * Undefined if the store has to be read. @throws CountersDown
   */
  known(demands: readonly LimitRequest[], whenDown: WhenDown): readonly LimitStatus[] | undefined
  /** The state of the limits. @throws CountersDown */
  peek(demands: readonly LimitRequest[], whenDown: WhenDown): Awaitable<readonly LimitStatus[]>
  /**
   * Takes all demands or none, atomically. If owners are stored apart, each owner is one step: the first demand's owner
   * decides before the others are tried, and if one refuses, the amounts already taken are released. So the narrowest
   * limit must come first. Never takes more than a limit allows. @throws CountersDown
   */
  take(demands: readonly LimitRequest[], whenDown: WhenDown): Awaitable<LimitReservation>
  /**
   * Reports the amounts that were really used. A higher amount delays later requests, a lower one frees the rest, and
   * 0 cancels the demand. Slots end, whatever the amount. Never rejects: amounts that the store does not receive
   * expire in a minute.
   */
  settle(ticket: Ticket, amounts: readonly number[]): Awaitable<void>
  /** Texts that processes share; absent without a shared store. */
  readonly texts?: SharedTexts
  /** False while a shared store is unreachable. */
  healthy(): boolean
  close(): Promise<void>
}
