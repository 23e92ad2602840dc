import { readFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CompiledConfig, ConfigFiles } from '../domain/index.ts'
import type { AnyPlugin } from '../plugin-api/index.ts'
import { readRegular, systemClock } from '../util/index.ts'
import { buildParts, buildPlan, type Settings } from './build.ts'
import { checkBudgets } from './check-budgets.ts'
import { checkCredentials, noteEmptyCredentials, type ResolveSigner } from './check-credentials.ts'
import { noteModelEnds } from './check-model-ends.ts'
import { checkFallbacks } from './check-fallbacks.ts'
import { checkNames, type KnownNames } from './check-names.ts'
import { checkRoutes } from './check-routes.ts'
import { checkSignIn } from './check-sign-in.ts'
import { checkWebhooks } from './check-webhooks.ts'
import { checkWildcards, withoutUncharged } from './check-wildcards.ts'
import { checkWorkers } from './check-workers.ts'
import { composing } from './compose/expand.ts'
import { PartFiles, type PartTexts } from './compose/part-files.ts'
import type { Nameable } from './secret-files.ts'
import type { ReadRow } from './compose/read-table.ts'
import type { Environment } from './environment.ts'
import type { Finding } from './finding.ts'
import { validateConfig } from './validate-config.ts'
import { flattenSettings } from './flatten-settings.ts'
import { deepFreeze } from './freeze.ts'
import { inspectFamilies } from './inspect.ts'
import { inspectOptions } from './inspect-options.ts'
import { type ResolvePlugin, resolvePipeline } from './pipeline.ts'
import { readFilled } from './read-filled.ts'
import { Report } from './report.ts'
import { revisionOf } from './revision.ts'
import { Source } from './source.ts'
import { noteTexts } from './shown-texts.ts'
import { type TracedValue, traceSettings } from './trace-values.ts'
import { checkVendorKeys } from './check-vendor-keys.ts'

export { applyEdits, type ConfigEdit, type ConfigTexts, type Edited } from './edit/apply-edits.ts'
export { type Editable, listEditable, readEditable } from './edit/list-editable.ts'
export { type FileDiff, showDiff } from './edit/show-diff.ts'
export { shownLines } from './edit/shown-lines.ts'
export { describeChanges, secretChanges, secretPlaces } from './describe-changes.ts'
export type { PartTexts } from './compose/part-files.ts'
export { type PriceTableFile, type ReadRow, readPriceTable } from './compose/read-table.ts'
export type { Environment } from './environment.ts'
export type { LintFinding, Finding } from './finding.ts'
export type { FoundKey } from './find-key.ts'
export { formatFindings } from './format-findings.ts'
export { gatewaySchema } from './gateway-schema.ts'
export type { KeyFacts } from './key-facts.ts'
export { type ResolvePlugin, settlesAfter } from './pipeline.ts'
export { findUnknownHook } from './unknown-function.ts'
export { markSecretFile } from './secret-files.ts'
export { secretsIn } from './secrets.ts'
export { shownTextsOf } from './shown-texts.ts'
export { compareSettings } from './compare-settings.ts'
export { coveredText } from './placeholder-secrets.ts'
export { showBroken, showConfig, type ShownConfig } from './show.ts'
export type { TracedValue } from './trace-values.ts'

export type LoadRequest = {
  /** Path of the file; findings and origins use it as the name. */
  readonly file: string
  /** The content, if `file` must not be read. */
  readonly text?: string
  readonly env: Environment
  /** The texts of the files that it names, by absolute path, if these must not be read again. */
  readonly parts?: PartTexts
  /** The only files that it may name, by absolute path, for an author who may not read all of them; absent for any. */
  readonly readable?: ReadonlySet<string>
  /** True if the author of the text may not know the values of variables: findings do not show them. */
  readonly variablesAreSecret?: boolean
  /**
   * The only secret files and variables that it may name, for an author who may not read all of them; absent for any.
   */
  readonly nameable?: Nameable
  /** The plan of a running gateway: a secret file that is empty now does not replace its earlier content. */
  readonly inUse?: CompiledConfig
  /** True for a program that reads the file again later. With `inUse`, this is so too. */
  readonly again?: boolean
  /**
   * True for commands that use only the storage: secrets for vendors, receivers and issuers may be missing. The plan
   * cannot serve requests.
   */
  readonly booksOnly?: boolean
  readonly resolvePlugin: ResolvePlugin
  /** Milliseconds since the epoch, for notices about end dates; the current time if absent. */
  readonly now?: number
  /** Names to suggest for an unknown plugin. */
  readonly knownPlugins?: readonly string[]
  /** Finds the plugins that sign requests to upstreams; if absent, there are none. */
  readonly resolveSigner?: ResolveSigner
  readonly knownSigners?: readonly string[]
  /** Valid API formats and local answers of routes; absent names are not checked. */
  readonly known?: KnownNames
}

export type Loaded =
  | {
      readonly ok: true
      readonly plan: CompiledConfig
      readonly notes: readonly Finding[]
      /** Every value of the file and every default, each with its origin. */
      readonly trace: () => readonly TracedValue[]
      /** The texts of the files that it names. */
      readonly parts: PartTexts
      /** By model: the table row of its prices. */
      readonly priceRows: ReadonlyMap<string, ReadRow>
    }
  | {
      readonly ok: false
      readonly findings: readonly Finding[]
      /** The files that it names, as far as known: the operator may have to correct one of them. */
      readonly files?: ConfigFiles
    }

/**
 * Reads a configuration into a frozen plan, or reports all its findings in the order of the file. Never throws for the
 * content of a file. Requests run between the steps: a configuration with thousands of models takes long.
 */
export async function loadPlan(request: LoadRequest): Promise<Loaded> {
  const { file, env, resolvePlugin, knownPlugins = [], known = {} } = request
  const text = request.text ?? (await readText(request))
  if (typeof text !== 'string') return { ok: false, findings: [text] }
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const report = new Report(source)

  const files = new PartFiles(request.parts, request.readable)
  const { variablesAreSecret, nameable, inUse, booksOnly } = request
  const fill = { variablesAreSecret, nameable, booksOnly, inUse: inUse?.secretFiles }
  const read = await readFilled(source, env, report, { ...fill, parts: files })
  const sources = sourcesOf(files)
  const { secrets } = read
  if (!read.written || !read.whole) return { ok: false, findings: report.findings(secrets), ...sources }
  warnOfReplacedBytes(source, report)
  const { filled: root, secretFiles, variables } = read
  report.follow(root)

  const builtIn = await findKnown(request)
  const pipeline = await resolvePipeline(root, resolvePlugin, knownPlugins, report, builtIn)
  await nextTurn()
  const { settings, schema } = validateConfig(root, pipeline, source, report)
  await nextTurn()
  checkNames(root, known, report)
  checkRoutes(root, source, report, known)
  checkWebhooks(settings, report)
  checkSignIn(settings, report)
  checkWorkers(settings, report)
  checkBudgets(settings, pipeline, report)
  inspectOptions(settings, pipeline, report)
  await checkCredentials(settings, {
    root,
    source,
    report,
    resolveSigner: request.resolveSigner,
    knownSigners: request.knownSigners ?? [],
  })
  checkVendorKeys(settings, report)
  await nextTurn()
  const { operations = new Map() } = known
  const { derived } = read
  const input = { settings, root, source, pipeline, known: builtIn, report, operations, derived }
  const built = buildParts(input)
  noteEmptyCredentials(settings, built.upstreams, report)
  const parts = withoutUncharged(built, inspectFamilies(built, input), report)
  checkWildcards(parts, report)
  if (!report.failed) checkFallbacks(parts, input)
  noteModelEnds(parts.models, request.now ?? systemClock.now(), report)

  const findings = report.findings(secrets)
  if (report.failed) return { ok: false, findings, ...sources }
  await nextTurn()
  const sound = withoutComposing(settings as Settings)
  const facts = flattenSettings(sound, schema, secrets)
  const warnings = findings.filter(one => one.severity === 'warning').map(describeWarning)
  await nextTurn()
  const loaded = {
    settings: facts,
    revision: revisionOf(facts, sound),
    secretFiles,
    ...(variables.size > 0 && { variables }),
    ...(warnings.length > 0 && { warnings }),
    ...sources,
  }
  const draft = buildPlan(input, parts, loaded)
  // Plugins are not frozen, because their state is their own.
  const plan = deepFreeze(draft, draft.plugins)
  noteTexts(plan, { source, secrets, sourceFiles: read.sourceFiles, parts: files.texts })
  const trace = () => traceSettings(sound, read, env)
  return { ok: true, plan, notes: findings, trace, parts: files.texts, priceRows: read.priceRows }
}

/** A reader replaces bytes that are not UTF-8, so that a name or a secret differs from the one in the file. */
function warnOfReplacedBytes({ text }: Source, report: Report): void {
  const start = text.indexOf('\uFFFD')
  if (start === -1) return
  const message = 'the file contains bytes that are not UTF-8, or a replacement of them (U+FFFD)'
  const span = { start, end: start + 1 }
  const remedy = 'save it as UTF-8, and write the character again'
  report.add({ code: 'file_encoding', severity: 'warning', path: [], span, message, remedy })
}

/** Empty for a configuration in one file. */
function sourcesOf({ files, patterns }: PartFiles): { readonly files?: ConfigFiles } {
  if (files.size + patterns.size === 0) return {}
  return { files: { named: [...files], patterns: [...patterns] } }
}

/** Drops the short forms, which are expanded already. */
function withoutComposing(settings: Settings): Settings {
  const kept = Object.entries(settings).filter(([key]) => !composing.some(one => one === key))
  return Object.fromEntries(kept) as Settings
}

function describeWarning({ file, line, col, message, remedy }: Finding): string {
  return `${file}:${line}:${col} ${message}${remedy === undefined ? '' : ` (${remedy})`}`
}

/** The plugins of the gateway itself, as far as `resolvePlugin` finds them. */
async function findKnown({ knownPlugins = [], resolvePlugin }: LoadRequest): Promise<readonly AnyPlugin[]> {
  const found = await Promise.all(knownPlugins.map(name => resolvePlugin(name)))
  return found.filter(plugin => plugin !== undefined)
}

/** Why a configuration is unreadable, and the remedy. */
const unreadable: { readonly [code: string]: readonly [string, string] } = {
  ENOENT: ['it does not exist', 'use -c FILE, or create one here with tollgate init'],
  ENOTDIR: ['a part of its path is a file', 'use -c FILE'],
  EISDIR: ['it is a folder', 'use -c with the file in it, such as FOLDER/gateway.yaml'],
  ENOTFILE: ['it is a pipe or a device, which cannot be read again at a reload', 'save it to a file, and use -c FILE'],
  EACCES: ['this user may not read it', 'let the user that runs the gateway read it, or use -c FILE'],
}

async function readText({ file, inUse, again = inUse !== undefined }: LoadRequest): Promise<string | Finding> {
  try {
    return await (again ? readRegular(file) : readFile(file, 'utf8'))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    const [reason, remedy] = unreadable[code] ?? [
      undefined,
      'check that it exists and that the gateway may read it, or use -c FILE',
    ]
    const message = `the file cannot be read: ${reason === undefined ? code : `${code}, ${reason}`}`
    return { severity: 'error', code: 'file_unreadable', file, line: 1, col: 1, path: '', message, remedy, caret: '' }
  }
}
