import type { Books } from '../play/books.ts'
import type { Stage } from '../play/stage.ts'

/** A promise that was broken: what in general, and in this case. */
export type Alarm = { readonly oracle: string; readonly what: string; readonly detail: string }

/** What is looked at when a play has come to its end. */
export type Evidence = {
  readonly stage: Stage
  readonly books: Books
  /** What is left when the last gateway has closed. */
  readonly leftovers: readonly string[]
  /** Requests that were made where money was free. */
  readonly probes: readonly Probe[]
}

export type Probe = {
  readonly period: string
  readonly free: number
  readonly status: number | undefined
  readonly code: string | undefined
}

export type Finding = readonly [what: string, detail: string]

/** Judges by what callers and vendors saw. */
export type Oracle = {
  readonly name: string
  /** What is promised. */
  readonly promise: string
  judge(evidence: Evidence): Iterable<Finding>
}
