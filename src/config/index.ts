import { readFile } from 'node:fs/promises'
import { type AnyPlugin, type Plan, systemClock } from '../kit/index.ts'
import { buildParts, buildPlan, type Settings } from './build.ts'
import { checkCredentials, noteEmptyCredentials, type ResolveSigner } from './check-credentials.ts'
import { noteEnds } from './check-ends.ts'
import { checkNames, type KnownNames } from './check-names.ts'
import { checkRoutes } from './check-routes.ts'
import { checkWorkers } from './check-workers.ts'
import type { Environment } from './environment.ts'
import type { Finding } from './finding.ts'
import { fitTree } from './fit.ts'
import { flattenSettings } from './flatten-settings.ts'
import { deepFreeze } from './freeze.ts'
import { inspectFamilies } from './inspect.ts'
import { inspectOptions } from './inspect-options.ts'
import { type ResolvePlugin, resolvePipeline } from './pipeline.ts'
import { readFilled } from './read-filled.ts'
import { Report } from './report.ts'
import { revisionOf } from './revision.ts'
import { Source } from './source.ts'
import { type TracedValue, traceSettings } from './trace-values.ts'

export { describeChanges } from './describe-changes.ts'
export type { Environment } from './environment.ts'
export type { LintFinding, Finding } from './finding.ts'
export type { FoundKey } from './find-key.ts'
export { formatFindings } from './format-findings.ts'
export { gatewaySchema } from './gateway-schema.ts'
export type { KeyFacts } from './key-facts.ts'
export { type ResolvePlugin, settlesAfter } from './pipeline.ts'
export { findUnknownHook } from './unknown-function.ts'
export { showConfig, type ShownConfig } from './show.ts'
export type { TracedValue } from './trace-values.ts'

export type LoadRequest = {
  /** Path of the file; also what findings and origins call it. */
  readonly file: string
  /** Its content, when it is not to be read from `file`. */
  readonly text?: string
  readonly env: Environment
  /** True for a text of somebody who may not know what variables hold: findings do not tell. */
  readonly variablesAreSecret?: boolean
  readonly resolvePlugin: ResolvePlugin
  /** Milliseconds since the epoch, for what is about to end; the clock's when absent. */
  readonly now?: number
  /** Names to suggest where a plugin is unknown. */
  readonly knownPlugins?: readonly string[]
  /** Finds the plugins that sign for upstreams; without it there are none. */
  readonly resolveSigner?: ResolveSigner
  readonly knownSigners?: readonly string[]
  /** Dialects and local answers that routes may name; absent names are not checked. */
  readonly known?: KnownNames
}

export type Loaded =
  | {
      readonly ok: true
      readonly plan: Plan
      readonly notes: readonly Finding[]
      /** Every value of the file and every default, each with where it came from. */
      readonly trace: () => readonly TracedValue[]
    }
  | { readonly ok: false; readonly findings: readonly Finding[] }

/**
 * Reads a configuration into a frozen plan, or tells everything that is wrong with it, in the order of the file.
 * Never throws for what an operator wrote.
 */
export async function loadPlan(request: LoadRequest): Promise<Loaded> {
  const { file, env, resolvePlugin, knownPlugins = [], known = {} } = request
  const text = request.text ?? (await readText(file))
  if (typeof text !== 'string') return { ok: false, findings: [text] }
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const report = new Report(source)

  const read = await readFilled(source, env, report, request.variablesAreSecret)
  const { secrets } = read
  if (!read.written) return { ok: false, findings: report.findings(secrets) }
  const { filled: root } = read
  report.follow(root)

  const builtIn = await findKnown(request)
  const pipeline = await resolvePipeline(root, resolvePlugin, knownPlugins, report, builtIn)
  const { settings, schema } = await fitTree(root, pipeline, source, report)
  checkNames(root, known, report)
  checkRoutes(root, source, report, known.isConsolePath)
  checkWorkers(settings, report)
  inspectOptions(settings, pipeline, report)
  await checkCredentials(settings, {
    root,
    source,
    report,
    resolveSigner: request.resolveSigner,
    knownSigners: request.knownSigners ?? [],
  })
  const { operations = new Map() } = known
  const sketch = { settings, root, source, pipeline, known: builtIn, report, operations }
  const parts = buildParts(sketch)
  noteEmptyCredentials(settings, parts.upstreams, report)
  inspectFamilies(parts, sketch)
  noteEnds(parts.models, request.now ?? systemClock.now(), report)

  const findings = report.findings(secrets)
  if (report.failed) return { ok: false, findings }
  const sound = settings as Settings
  const facts = flattenSettings(sound, schema, secrets.values)
  const draft = buildPlan(sketch, parts, { settings: facts, revision: revisionOf(facts, sound) })
  // Plugins are others' code, and may keep what they like in themselves.
  const plan = deepFreeze(draft, draft.plugins)
  const trace = () => traceSettings(settings, read, env)
  return { ok: true, plan, notes: findings, trace }
}

/** The plugins that came with the gateway: none of them has to be loaded. */
async function findKnown({ knownPlugins = [], resolvePlugin }: LoadRequest): Promise<readonly AnyPlugin[]> {
  const found = await Promise.all(knownPlugins.map(name => resolvePlugin(name)))
  return found.filter(plugin => plugin !== undefined)
}

async function readText(file: string): Promise<string | Finding> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    const message = `the file cannot be read: ${reason}`
    const remedy = 'check that it exists and that the gateway may read it, or name another with -c'
    return { severity: 'error', code: 'file_unreadable', file, line: 1, col: 1, path: '', message, remedy, caret: '' }
  }
}
