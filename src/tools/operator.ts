import { readFile } from 'node:fs/promises'
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
import type { Plan } from '../kit/index.ts'
import { knownNames } from '../gateway/known-names.ts'
import { builtins, loadSigners, pluginFinder } from '../gateway/plugin-finder.ts'
import { readVersion } from '../gateway/version.ts'

// What an operator does with a configuration while nothing runs. Each is told the whole file's findings when it has some.

type Refused = { readonly ok: false; readonly findings: readonly Finding[] }

export type FormattedConfig = { readonly ok: true; readonly text: string; readonly changed: boolean } | Refused

export type TracedConfig = { readonly ok: true; readonly values: readonly TracedValue[] } | Refused

export type LintedConfig =
  | { readonly ok: true; readonly findings: readonly LintFinding[]; readonly ignored: number }
  | Refused

export type ImportedConfig = ({ readonly ok: true } & Imported) | Refused

/** A rule of `lint`, for people. */
export type LintRule = {
  readonly id: string
  /** Names that it had before. */
  readonly formerly: readonly string[]
  readonly severity: LintFinding['severity']
  readonly description: string
  readonly remedy: string
}

/** The file in its canonical layout, which says the same; nothing is written. */
export async function formatConfig(file: string, env: Environment): Promise<FormattedConfig> {
  const { request, text, loaded } = await open(file, env)
  const formatted = formatText(text)
  if (!formatted.ok) return { ok: false, findings: loaded.ok ? [] : loaded.findings }
  if (loaded.ok) {
    const again = await loadPlan({ ...request, text: formatted.text })
    if (!again.ok || again.plan.revision !== loaded.plan.revision)
      throw new Error(`the layout would change the revision of ${file}, so it is left as it is; please report the file`)
  }
  return { ok: true, text: formatted.text, changed: formatted.text !== text }
}

/** Every value that is in effect, defaults too, each with where it came from; secrets are redacted. */
export async function traceConfig(file: string, env: Environment): Promise<TracedConfig> {
  const { loaded } = await open(file, env)
  return loaded.ok ? { ok: true, values: loaded.trace() } : loaded
}

/** What is dangerous in a valid configuration. `unasked` names rules that are left out. */
export async function lintConfig(file: string, unasked: readonly string[], env: Environment): Promise<LintedConfig> {
  const { text, loaded } = await open(file, env)
  return loaded.ok ? { ok: true, ...(await lintPlan({ file, text, env, plan: loaded.plan }, unasked)) } : loaded
}

/** All that `lint` looks for. */
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

/** Findings for other programs: annotations of GitHub Actions, or a SARIF 2.1.0 log. */
export async function reportFindings(findings: readonly LintFinding[], format: 'github' | 'sarif'): Promise<string> {
  if (format === 'github') return formatGithub(findings)
  return formatSarif(findings, { version: await readVersion(), rules: listLintRules() })
}

/** What a plan would change of a gateway that has told its settings, prices first. */
export function describeSettingChanges(running: { readonly [path: string]: string }, plan: Plan): readonly string[] {
  return compareSettings(running, plan.settings)
}

/** A configuration made of another gateway's; `notes` tell what of it could not be translated. */
export async function importConfig(file: string, from: 'litellm'): Promise<ImportedConfig> {
  const text = await readFile(file, 'utf8')
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const report = new Report(source)
  const { value, diagnostics } = readForeignYaml(source.text)
  report.add(...diagnostics)
  const imported = diagnostics.length > 0 ? undefined : importLitellm(value)
  if (imported) return { ok: true, ...imported }
  if (!report.failed) {
    const remedy = `name a config.yaml of ${from}: it has a model_list`
    report.add({
      code: 'model_list_missing',
      path: [],
      span: { start: 0, end: 1 },
      message: "'model_list' is missing",
      remedy,
    })
  }
  return { ok: false, findings: report.findings(gatherSecrets(undefined, source.text, [])) }
}

/** A file with its text; a file that cannot be read has none, and `loaded` says so. */
async function open(file: string, env: Environment) {
  const read = await readFile(file, 'utf8').catch(() => undefined)
  const request: LoadRequest = { file, env, ...pluginFinder(file), known: knownNames }
  const loaded = await loadPlan(read === undefined ? request : { ...request, text: read })
  return { request, text: read ?? '', loaded }
}
