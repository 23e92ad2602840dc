import type { CompiledConfig } from '../../domain/index.ts'
import type { LintFinding } from '../finding.ts'
import type { Path, Tree } from '../tree.ts'

/** A valid configuration for rules. */
export type View = {
  readonly plan: CompiledConfig
  /** The file as written, with unresolved references. */
  readonly written: Tree
}

/** A place that a rule reports, and its message. */
export type Sighting = { readonly path: Path; readonly message: string; readonly remedy?: string }

/** A rule. Files use ids in `tollgate-ignore`, so a renamed rule keeps its old name. */
export type Rule = {
  readonly id: string
  /** Earlier names, which files and scripts may still use. */
  readonly formerly?: readonly string[]
  readonly severity: LintFinding['severity']
  /** The problem, in a sentence. */
  readonly description: string
  readonly remedy: string
  readonly look: (view: View) => Iterable<Sighting>
}
