import type { Environment } from './environment.ts'
import { fillTree } from './fill.ts'
import { readYaml } from './load.ts'
import { renameOldKeys } from './old-names.ts'
import type { Report } from './report.ts'
import { gatherSecrets, type Secrets } from './secrets.ts'
import type { Source } from './source.ts'
import type { Tree } from './tree.ts'

/** A file as its nodes, old names of keys replaced: as it is written, and with its references filled in. */
export type Filled = {
  readonly source: Source
  readonly written: Tree
  readonly filled: Tree
  readonly secrets: Secrets
}

/** Of a text that is no YAML there is no tree, and its secrets are what looks like one. What is wrong is reported. */
export async function readFilled(
  source: Source,
  env: Environment,
  report: Report,
  variablesAreSecret?: boolean,
): Promise<Filled | { readonly written?: undefined; readonly secrets: Secrets }> {
  const { root, diagnostics } = readYaml(source.text)
  report.add(...diagnostics)
  if (!root) return { secrets: gatherSecrets(undefined, source.text, []) }
  const written = renameOldKeys(root, report)
  const { root: filled, loose } = await fillTree(written, source, env, report, variablesAreSecret)
  return { source, written, filled, secrets: gatherSecrets(filled, source.text, loose) }
}
