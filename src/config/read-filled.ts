import { expand } from './compose/expand.ts'
import { includeFiles, type SettingsSheet } from './compose/include.ts'
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
 * A configuration as its nodes: its files put together, what it says once for many spelt out, prices of tables taken over,
 * old names of keys replaced. As it is written, and with its references filled in.
 */
export type Filled = {
  readonly source: Source
  readonly written: Tree
  readonly filled: Tree
  readonly secrets: Secrets
  readonly secretFiles: SecretFiles
  /** Names of variables in it. */
  readonly variables: ReadonlySet<string>
  /** Every file that it names was there, and could be read. */
  readonly whole: boolean
  /** The files with settings, the main one first. */
  readonly sheets: readonly SettingsSheet[]
  /** By model: the row of a table that its prices were taken from. */
  readonly priceRows: ReadonlyMap<string, ReadRow>
  /** By model that a row gave its name: the wildcard that it is served by. */
  readonly derived: ReadonlyMap<string, string>
}

export type ReadOptions = FillOptions & {
  /** Who reads the files that it names; notes which. */
  readonly parts?: PartFiles | undefined
}

/** Of a text that is no YAML there is no tree, and its secrets are what looks like one. What is wrong is reported. */
export async function readFilled(
  source: Source,
  env: Environment,
  report: Report,
  { parts = new PartFiles(), ...fill }: ReadOptions = {},
): Promise<Filled | { readonly written?: undefined; readonly secrets: Secrets }> {
  const { root, diagnostics } = readYaml(source.ownText)
  report.add(...diagnostics)
  if (!root) return { secrets: gatherSecrets(undefined, source.text, []) }
  const { root: together, sheets, whole, hidden } = await includeFiles(root, source, parts, report)
  const spelt = expand(renameOldKeys(together, report), source, report)
  // What a file would have said that was not read is not missing.
  const {
    root: written,
    taken,
    derived,
  } = whole
    ? await priceModels(spelt, { source, parts, report })
    : { root: spelt, taken: new Map<string, ReadRow>(), derived: new Map<string, string>() }
  const { root: filled, unfilled, secretFiles, variables } = await fillTree(written, source, env, report, fill)
  const secrets = gatherSecrets(filled, source.text, unfilled, hidden)
  return { source, written, filled, secretFiles, variables, secrets, whole, sheets, priceRows: taken, derived }
}
