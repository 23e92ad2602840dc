import { fillTree } from './fill.ts'
import { fitTree } from './fit.ts'
import type { LoadRequest } from './index.ts'
import { readYaml } from './load.ts'
import { renameOldKeys } from './old-names.ts'
import { resolvePipeline } from './pipeline.ts'
import { Report } from './report.ts'
import { gatherSecrets } from './secrets.ts'
import { Source } from './source.ts'
import { type TracedValue, traceSettings } from './trace-values.ts'

/** Every value of a configuration that is valid, those among them that are defaults of the schema, each with its origin. */
export async function traceConfig(request: LoadRequest & { readonly text: string }): Promise<readonly TracedValue[]> {
  const { file, text, env, resolvePlugin, knownPlugins = [] } = request
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const report = new Report(source)
  const { root: read } = readYaml(source.text)
  if (!read) throw new Error('a valid configuration could not be read again')
  const written = renameOldKeys(read)
  const { root: filled, loose } = await fillTree(written, source, env, report)
  const pipeline = await resolvePipeline(filled, resolvePlugin, knownPlugins, report)
  const settings = fitTree(filled, pipeline, source, report)
  return traceSettings(settings, { source, written, filled, secrets: gatherSecrets(filled, source.text, loose), env })
}
