/** A problem or notice about a configuration file. */
export type Finding = {
  /** An error rejects the file. A warning does not: starts and reloads report it, and `check --strict` rejects it. */
  readonly severity: 'error' | 'warning' | 'note'
  /** Stable name of the kind: `unknown_key`, `price_missing` … */
  readonly code: string
  readonly file: string
  /** Position of the key or value in question; both count from 1. */
  readonly line: number
  readonly col: number
  /** `models.NAME.prices.4K`; empty for the file as a whole. */
  readonly path: string
  readonly message: string
  readonly remedy?: string
  /** The source line and, under it, the caret line; empty if there is no line to show. */
  readonly caret: string
}

/** Warnings that `check` rejects, although the gateway starts: older files lack the settings that they require. */
export const refusedByCheck: ReadonlySet<string> = new Set(['text_unpriced'])

/** A finding about a valid file that could be safer. */
export type LintFinding = Finding
