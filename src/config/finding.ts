/** A problem or notice about a configuration file. */
export type Finding = {
  /** An error is refused. A warning is not; it is reported at every start and reload, and refused by `check --strict`. */
  readonly severity: 'error' | 'warning' | 'note'
  /** Stable name of the kind: `unknown_key`, `price_missing` … */
  readonly code: string
  readonly file: string
  /** Position of the key or value in question; both count from 1. */
  readonly line: number
  readonly col: number
  /** `models.NAME.prices.4K`; empty for the file as a whole. */
  readonly path: string
  /** What was found. */
  readonly message: string
  /** The remedy. */
  readonly remedy?: string
  /** The source line and, under it, the caret line; empty when there is no line to show. */
  readonly caret: string
}

/** Warnings that `check` refuses, though a gateway starts with them: files from before went without what they demand. */
export const refusedByCheck: ReadonlySet<string> = new Set(['text_unpriced'])

/** A finding of a file that is valid, and could be safer. */
export type LintFinding = Finding
