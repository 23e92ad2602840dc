import type { Awaitable } from '../util/awaitable.ts'
import type { SharedTexts } from './answer-cache.ts'
import { brand } from '../util/brand.ts'

/** A window counts the last 60 seconds. */
export const windowMs = 60_000

/** What a request takes of one limit. */
export type LimitRequest = {
  /** What is counted: demands with one id are counted together, whatever limit each brings. Always of the same owner. */
  readonly id: string
  /** The owner of the limit (`user anna`, `model alpha`): those of one owner are stored together. */
  readonly owner?: string
  /** `window`: amounts of any 60 seconds, each as long as that. `places`: what is in flight, each until its end. */
  readonly kind: 'window' | 'places'
  readonly limit: number
  /** A whole number: 1 of requests and places, an estimate of tokens; 0 reads the limit and takes nothing. */
  readonly amount: number
  /** Counted, never refused. */
  readonly shadow: boolean
}

/** The state of a limit. */
export type LimitStatus = {
  /** What is left, after what was taken. */
  readonly remaining: number
  /** Whole milliseconds until the demand could have been met, had nothing been taken; 0 when it could at once. */
  readonly waitMs: number
  /** Milliseconds until the whole limit is free again, without further requests; 0 of places, whose ends are not known. */
  readonly resetMs: number
}

/**
 * What was taken. A ticket of some of its demands (`{ ...ticket, demands }`) is one too: a place may end before the rest.
 * Each demand of it is settled once at most.
 */
export type Ticket = { readonly stamp: number; readonly demands: readonly LimitRequest[] }

export type LimitReservation = {
  /** Undefined when one of the limits was full: then nothing was taken of any. */
  readonly ticket: Ticket | undefined
  /** One for each demand, in their order. */
  readonly standings: readonly LimitStatus[]
}

/** What holds while a shared store does not answer: the counts of this process alone, or every request is refused. */
export type WhenDown = 'local' | 'refuse'

/** The store of the counters does not answer, and nothing replaces it. */
export class CountersDown extends Error {
  static {
    brand(this, 'CountersDown')
  }
}

/** Where requests are counted. Memory counts within one process, at once; a shared store for several, after a round trip. */
export type Counters = {
  /**
   * The state of the limits, as far as this process knows it without a call to a shared store: of memory always; of a shared one
   * only that a limit is full which this process has filled alone, and its own counts while the store does not answer.
   * Undefined where the store has to be read. @throws CountersDown
   */
  known(demands: readonly LimitRequest[], whenDown: WhenDown): readonly LimitStatus[] | undefined
  /** The state of the limits. @throws CountersDown */
  peek(demands: readonly LimitRequest[], whenDown: WhenDown): Awaitable<readonly LimitStatus[]>
  /**
   * All demands or none, in one step that nothing can come between. Where owners are counted apart, one step each: the owner
   * of the first demand decides before the others are tried, and what was taken of some is released when one refuses; so
   * the narrowest comes first. Never is more taken than a limit allows. @throws CountersDown
   */
  take(demands: readonly LimitRequest[], whenDown: WhenDown): Awaitable<LimitReservation>
  /**
   * What was really used of each demand, when it is known: more delays those who come later, less is free again, 0 makes
   * it not have happened. Slots end, whatever the amount. Never rejects: what the store does not receive expires in a minute.
   */
  settle(ticket: Ticket, amounts: readonly number[]): Awaitable<void>
  /** Texts that processes share; absent without a shared store. */
  readonly texts?: SharedTexts
  /** False while a shared store does not answer. */
  healthy(): boolean
  close(): Promise<void>
}
