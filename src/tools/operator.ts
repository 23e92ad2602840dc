import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { lintPlan, lintRules } from '../config/lint/lint.ts'
import { findKey, type FoundKey } from '../config/find-key.ts'
import { compareSettings } from '../config/compare-settings.ts'
import { formatText } from '../config/format-text.ts'
import { formatGithub } from '../config/format-github.ts'
import { formatSarif } from '../config/format-sarif.ts'
import { type LintFinding, type Environment, type Finding, loadPlan, type LoadRequest } from '../config/index.ts'
import { type KeyFacts, listKeys } from '../config/key-facts.ts'
import type { TracedValue } from '../config/trace-values.ts'
import { readForeignYaml } from '../config/load.ts'
import { Report } from '../config/report.ts'
import { gatherSecrets } from '../config/secrets.ts'
import { Source } from '../config/source.ts'
import { type Imported, importLitellm } from './import/import-litellm.ts'
import { readCopyDump } from './import/litellm-book/read-copy-dump.ts'
import { litellmTables } from './import/litellm-book/read-people.ts'
import type { LitellmOptions } from './import/litellm-deployments.ts'
import { type ImportedBook, importNewApi, type NewApiOptions } from './import/new-api/import-new-api.ts'
import { readDump } from './import/new-api/read-dump.ts'
import { type JsonFile, readJsonExport } from './import/new-api/read-json.ts'
import { readSqlite } from './import/new-api/read-sqlite.ts'
import { type ForeignBook, wantedTables } from './import/new-api/foreign-book.ts'
import { createPriceTable, type PriceTable } from './import/price-table.ts'
import { readLitellmTable } from './prices/index.ts'
import type { CompiledConfig } from '../domain/index.ts'
import { knownNames } from '../gateway/known-names.ts'
import { builtins, loadSigners, pluginFinder } from '../gateway/plugin-finder.ts'
import { readVersion } from '../gateway/version.ts'
import { isPostgres } from '../util/index.ts'

// Operations on a configuration that need no running gateway. Each returns the findings of the whole file, if any.

type Refused = { readonly ok: false; readonly findings: readonly Finding[] }

export type FormattedConfig = { readonly ok: true; readonly text: string; readonly changed: boolean } | Refused

export type TracedConfig = { readonly ok: true; readonly values: readonly TracedValue[] } | Refused

export type LintedConfig =
  | { readonly ok: true; readonly findings: readonly LintFinding[]; readonly ignored: number }
  | Refused

export type ImportedConfig = ({ readonly ok: true } & Imported) | Refused

/** Options of the import in addition to the file. `prices` is the path of a table in LiteLLM's shape. */
export type ImportOptions = Omit<LitellmOptions, 'prices' | 'book'> & {
  readonly prices?: string | undefined
  /** Also uses rows of the table that leave out a cost. */
  readonly allowUndercharge?: boolean
  /** The database of the same gateway: `postgres://…`, or a plain-text dump of pg_dump. */
  readonly database?: string | undefined
}

/** A rule of `lint`, as documentation. */
export type LintRule = {
  readonly id: string
  /** Its former names. */
  readonly formerly: readonly string[]
  readonly severity: LintFinding['severity']
  readonly description: string
  readonly remedy: string
}

/** Options for the import of a database. */
export type BookOptions = Omit<NewApiOptions, 'prices'> & {
  readonly prices?: string | undefined
  /** Also uses rows of the table that leave out a cost. */
  readonly allowUndercharge?: boolean
  /** The dump has no mark of its end, but is complete. */
  readonly isEndless?: boolean
}

export type { ImportedBook } from './import/new-api/import-new-api.ts'

/** The file in its canonical layout, with the same meaning; nothing is written. */
export async function formatConfig(file: string, env: Environment): Promise<FormattedConfig> {
  const { request, text, loaded } = await openConfig(file, env)
  const formatted = formatText(text)
  if (!formatted.ok) return { ok: false, findings: loaded.ok ? [] : loaded.findings }
  if (loaded.ok) {
    const again = await loadPlan({ ...request, text: formatted.text, parts: loaded.parts })
    if (!again.ok || again.plan.revision !== loaded.plan.revision)
      throw new Error(`formatting would change the revision of ${file}, so it was not written; please report the file`)
  }
  return { ok: true, text: formatted.text, changed: formatted.text !== text }
}

/** Every effective value, including defaults, each with its origin; secrets are redacted. */
export async function traceConfig(file: string, env: Environment): Promise<TracedConfig> {
  const { loaded } = await openConfig(file, env)
  return loaded.ok ? { ok: true, values: loaded.trace() } : loaded
}

/** Dangerous settings of a valid configuration. `skipped` lists rules to skip. */
export async function lintConfig(file: string, skipped: readonly string[], env: Environment): Promise<LintedConfig> {
  const { text, loaded } = await openConfig(file, env)
  return loaded.ok
    ? { ok: true, ...(await lintPlan({ file, text, env, plan: loaded.plan, parts: loaded.parts }, skipped)) }
    : loaded
}

/** All rules of `lint`. */
export function listLintRules(): readonly LintRule[] {
  return lintRules.map(({ id, formerly = [], severity, description, remedy }) => ({
    id,
    formerly,
    severity,
    description,
    remedy,
  }))
}

/** Every key that a configuration may have, with the sections of the built-in plugins. */
export async function listConfigKeys(): Promise<readonly KeyFacts[]> {
  return listKeys(builtins, await loadSigners())
}

export async function findConfigKey(name: string): Promise<FoundKey> {
  return findKey(name, await listConfigKeys())
}

/** Findings in a machine-readable form: annotations of GitHub Actions, or a SARIF 2.1.0 log. */
export async function reportFindings(findings: readonly LintFinding[], format: 'github' | 'sarif'): Promise<string> {
  if (format === 'github') return formatGithub(findings)
  return formatSarif(findings, { version: await readVersion(), rules: listLintRules() })
}

/** The changes that a plan would make to a gateway with known settings, prices first. */
export function describeSettingChanges(
  running: { readonly [path: string]: string },
  plan: CompiledConfig,
): readonly string[] {
  return compareSettings(running, plan.settings)
}

/** Translates the configuration of another gateway; `notes` report what could not be translated. */
export async function importConfig(
  file: string,
  _from: 'litellm',
  options: ImportOptions = {},
): Promise<ImportedConfig> {
  const text = await readFile(file, 'utf8')
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const report = new Report(source)
  const { value, diagnostics } = readForeignYaml(source.text)
  for (const one of diagnostics) report.add(one)
  const prices =
    options.prices === undefined ? undefined : await openPriceTable(options.prices, options.allowUndercharge)
  const book = options.database === undefined ? undefined : await openLitellmBook(options.database)
  const imported = diagnostics.length > 0 ? undefined : importLitellm(value, { ...options, prices, book })
  if (imported) return { ok: true, ...imported }
  if (!report.failed) {
    report.add({
      code: 'model_list_missing',
      path: [],
      span: { start: 0, end: 1 },
      message: "'model_list' is missing",
      remedy: 'use a config.yaml of LiteLLM, which has a model_list',
    })
  }
  return { ok: false, findings: report.findings(gatherSecrets(undefined, source.text, [])) }
}

/** Translates a database of another gateway: configuration, secrets, users, keys and balances. Nothing is written. */
export async function importBook(
  source: string,
  from: 'new-api' | 'one-api',
  options: BookOptions,
): Promise<ImportedBook> {
  const prices =
    options.prices === undefined ? undefined : await openPriceTable(options.prices, options.allowUndercharge)
  const imported = importNewApi(await openBook(source, options.isEndless === true), from, { ...options, prices })
  if (imported) return imported
  throw new Error(`this is not a ${from} database: one of the tables channels, users and tokens is missing`)
}

async function openBook(source: string, isEndless: boolean): Promise<ForeignBook> {
  if (isPostgres(source)) {
    const { readForeign } = await import('../storage/postgres/read-foreign.ts')
    return readForeign(source, wantedTables)
  }
  if ((await stat(source)).isDirectory()) {
    const names = (await readdir(source)).filter(name => name.endsWith('.json')).toSorted()
    if (names.length === 0) throw new Error(`${source} has no file whose name ends with .json`)
    return readJsonExport(await Promise.all(names.map(name => openJson(join(source, name)))))
  }
  const handle = await open(source)
  try {
    const start = await startOf(handle)
    if (start.startsWith(sqliteMark)) return readSqlite(source)
    // No dump of SQL begins with a bracket.
    if (/^\s*[[{]/.test(start)) return readJsonExport([await openJson(source)])
    if (/^PGDMP|^[-\s]*PostgreSQL database dump/.test(start))
      return await openCopyDump(handle, start, source, wantedTables)
    return await readDump(handle.createReadStream({ start: 0, autoClose: false }), isEndless)
  } finally {
    await handle.close()
  }
}

async function openJson(file: string): Promise<JsonFile> {
  return { name: basename(file), text: (await readFile(file, 'utf8')).replace(/^\uFEFF/, '') }
}

/** @throws Error if it cannot be read completely */
async function openLitellmBook(source: string): Promise<ForeignBook> {
  if (isPostgres(source)) {
    const { readForeign } = await import('../storage/postgres/read-foreign.ts')
    return readForeign(source, litellmTables)
  }
  const handle = await open(source)
  try {
    return await openCopyDump(handle, await startOf(handle), source, litellmTables)
  } finally {
    await handle.close()
  }
}

async function openCopyDump(
  handle: FileHandle,
  start: string,
  source: string,
  wanted: ReadonlySet<string>,
): Promise<ForeignBook> {
  if (start.startsWith('PGDMP'))
    throw new Error(`${source} is in pg_dump's custom format: create it with --format=plain`)
  return readCopyDump(handle.createReadStream({ start: 0, autoClose: false }), wanted)
}

/** The first characters of a file, without a byte order mark. */
async function startOf(handle: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0)
  return buffer
    .subarray(0, bytesRead)
    .toString('latin1')
    .replace(/^\xEF\xBB\xBF/, '')
}

/** The first bytes of every SQLite file. */
const sqliteMark = 'SQLite format 3\0'

/** @throws Error if the file is not a price table */
async function openPriceTable(file: string, isAllowed = false): Promise<PriceTable> {
  const table = readLitellmTable(await readFile(file, 'utf8'))
  if (table) return createPriceTable(basename(file), table, isAllowed)
  throw new Error(`${file} is not a price table: expected JSON as in LiteLLM's model_prices_and_context_window.json`)
}

/** A file with its text; if the file cannot be read it has none, and `loaded` reports the error. */
async function openConfig(file: string, env: Environment) {
  const read = await readFile(file, 'utf8').catch(() => undefined)
  const request: LoadRequest = { file, env, ...pluginFinder(file), known: knownNames }
  const loaded = await loadPlan(read === undefined ? request : { ...request, text: read })
  return { request, text: read ?? '', loaded }
}
