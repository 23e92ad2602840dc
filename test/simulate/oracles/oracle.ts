import type { Books } from '../play/books.ts'
import type { Stage } from '../play/stage.ts'

/** A broken promise: the general rule, and the details of the case. */
export type Alarm = { readonly oracle: string; readonly what: string; readonly detail: string }

/** The data to judge at the end of a play. */
export type Evidence = {
  readonly stage: Stage
  readonly books: Books
  /** Resources left open after the last gateway has closed. */
  readonly leftovers: readonly string[]
  /** Requests sent at the end where a budget has room. */
  readonly probes: readonly Probe[]
}

export type Probe = {
  readonly period: string
  readonly free: number
  readonly status: number | undefined
  readonly code: string | undefined
}

export type Finding = readonly [what: string, detail: string]

/** Judges from the observations of callers and vendors. */
export type Oracle = {
  readonly name: string
  /** The promise. */
  readonly promise: string
  judge(evidence: Evidence): Iterable<Finding>
}
