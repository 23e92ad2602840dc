import type { Awaitable } from '../../src/kit/index.ts'

/** Something counted over any 60 seconds, and how much of it there may be. */
export type Window = {
  /** Who or what is counted; requests with one id are counted together, whatever limit each brings. */
  readonly id: string
  readonly limit: number
}

/** Where a window stands. */
export type Standing = {
  readonly remaining: number
  /** Whole milliseconds until one more is admitted; 0 when that is so now. */
  readonly waitMs: number
  /** Milliseconds until the whole limit is free again. */
  readonly resetMs: number
}

/** What was taken, for giving exactly that back. */
export type Ticket = { readonly stamp: number; readonly windows: readonly Window[] }

export type Taking = {
  /** Undefined when a window was full: then nothing was taken of any. */
  readonly ticket: Ticket | undefined
  /** One for each window, in their order, after the taking. */
  readonly standings: readonly Standing[]
}

/** Where requests are counted. Memory counts within one process; a shared store counts for several. */
export type Counters = {
  peek(windows: readonly Window[]): Awaitable<readonly Standing[]>
  /** One place in every window or none in any, in one step that nothing can come between. */
  take(windows: readonly Window[]): Awaitable<Taking>
  /** Makes the request not have happened. A ticket is given back once at most. */
  giveBack(ticket: Ticket): Awaitable<void>
}
