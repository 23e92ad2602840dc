import type { CompiledConfig } from '../../domain/index.ts'
import type { LintFinding } from '../finding.ts'
import type { Path, Tree } from '../tree.ts'

/** A valid configuration as a rule sees it. */
export type View = {
  readonly plan: CompiledConfig
  /** The file as written, references and all. */
  readonly written: Tree
}

/** Where a rule found something, and what. */
export type Sighting = { readonly path: Path; readonly message: string; readonly remedy?: string }

/** One thing that is looked for. Files name ids in `tollgate-ignore`, so one that is renamed keeps its old name. */
export type Rule = {
  readonly id: string
  /** Names that it had before, which files and scripts may still use. */
  readonly formerly?: readonly string[]
  readonly severity: LintFinding['severity']
  /** What is wrong with it, in a sentence. */
  readonly description: string
  readonly remedy: string
  readonly look: (view: View) => Iterable<Sighting>
}
