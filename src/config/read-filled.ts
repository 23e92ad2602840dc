import { setImmediate as nextTurn } from 'node:timers/promises'
import { expand } from './compose/expand.ts'
import { includeFiles, type SettingsFile } from './compose/include.ts'
import { PartFiles } from './compose/part-files.ts'
import { priceModels } from './compose/price-tables.ts'
import type { ReadRow } from './compose/read-table.ts'
import type { Environment } from './environment.ts'
import { fillTree, type FillOptions } from './fill.ts'
import { readYaml } from './load.ts'
import { renameOldKeys } from './old-names.ts'
import type { Report } from './report.ts'
import type { SecretFiles } from './secret-files.ts'
import { gatherSecrets, type Secrets } from './secrets.ts'
import type { Source } from './source.ts'
import type { Tree } from './tree.ts'

/**
 * A configuration as nodes: its files combined, its defaults applied, prices of tables copied, old key names replaced.
 * Once as written, and once with references filled in.
 */
export type Filled = {
  readonly source: Source
  readonly written: Tree
  readonly filled: Tree
  readonly secrets: Secrets
  readonly secretFiles: SecretFiles
  /** The names of its variables. */
  readonly variables: ReadonlySet<string>
  /** All its files exist and could be read. */
  readonly whole: boolean
  /** The files with settings, the main one first. */
  readonly sourceFiles: readonly SettingsFile[]
  /** By model: the table row of its prices. */
  readonly priceRows: ReadonlyMap<string, ReadRow>
  /** By model with a name from a table row: the wildcard that serves it. */
  readonly derived: ReadonlyMap<string, string>
}

export type ReadOptions = FillOptions & {
  /** Reads the files that it names, and records them. */
  readonly parts?: PartFiles | undefined
}

/**
 * Requests run between the steps: a configuration with thousands of models takes long.
 * Text that is not YAML has no tree, and its secrets are texts that look like one. Reports all problems.
 */
export async function readFilled(
  source: Source,
  env: Environment,
  report: Report,
  { parts = new PartFiles(), ...fill }: ReadOptions = {},
): Promise<Filled | { readonly written?: undefined; readonly secrets: Secrets }> {
  await nextTurn()
  const { root, diagnostics, hidden: ownHidden = [] } = readYaml(source.ownText)
  for (const one of diagnostics) report.add(one)
  if (!root) return { secrets: gatherSecrets(undefined, source.text, []) }
  await nextTurn()
  const { root: together, sourceFiles, whole, hidden } = await includeFiles(root, source, parts, report)
  const spelt = expand(renameOldKeys(together, report), source, report)
  // Settings of a file that was not read do not count as missing.
  const {
    root: written,
    taken,
    derived,
  } = whole
    ? await priceModels(spelt, { source, parts, report })
    : { root: spelt, taken: new Map<string, ReadRow>(), derived: new Map<string, string>() }
  const { root: filled, unfilled, secretFiles, variables } = await fillTree(written, source, env, report, fill)
  await nextTurn()
  const secrets = gatherSecrets(filled, source.text, unfilled, [...ownHidden, ...hidden])
  return { source, written, filled, secretFiles, variables, secrets, whole, sourceFiles, priceRows: taken, derived }
}
