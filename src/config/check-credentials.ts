import type { Upstream } from '../domain/index.ts'
import type { AnySigner } from '../plugin-api/index.ts'
import type { Report } from './report.ts'
import { reportSchemaErrors } from './report-schema-errors.ts'
import type { Source } from './source.ts'
import { suggest } from './suggest.ts'
import type { Path, Tree } from './tree.ts'
import { createValidator } from './validator.ts'

/** Finds the signing plugin that a credential names; undefined if there is none. May reject. */
export type ResolveSigner = (name: string) => Promise<AnySigner | undefined>

/** One of an upstream's credentials, as written. */
export type CredentialEntry = {
  readonly header?: string
  readonly query?: string
  readonly sign?: string
  readonly value?: string
  readonly with?: object
}

type Placed = { readonly path: Path; readonly entry: CredentialEntry }

/** The credentials of an upstream, from its list or its single credential, each with its place. */
export function credentialEntries(path: Path, written: unknown): readonly Placed[] {
  if (Array.isArray(written))
    return written.map((entry, i) => ({ path: [...path, i], entry: entry as CredentialEntry }))
  return typeof written === 'object' && written !== null ? [{ path, entry: written }] : []
}

const kinds = ['header', 'query', 'sign'] as const
const known: ReadonlySet<string> = new Set([...kinds, 'value', 'with'])

type Given = {
  readonly root: Tree
  readonly source: Source
  readonly report: Report
  readonly resolveSigner: ResolveSigner | undefined
  readonly knownSigners: readonly string[]
}

/**
 * Checks that every credential has exactly one method, with all required keys. The options of a signing plugin are
 * validated by its schema, which fills in defaults.
 */
export async function checkCredentials(settings: unknown, given: Given): Promise<void> {
  const upstreams = (settings as { readonly upstreams?: unknown } | null)?.upstreams
  if (typeof upstreams !== 'object' || upstreams === null) return
  for (const [name, own] of Object.entries(upstreams as { readonly [name: string]: unknown })) {
    const path = ['upstreams', name]
    if (typeof own !== 'object' || own === null || given.report.broken(path)) continue
    const { credential, query } = own as { readonly credential?: unknown; readonly query?: object }
    const entries = credentialEntries([...path, 'credential'], credential)
    for (const one of entries) await checkEntry(one, given)
    checkRepeated(entries, query ?? {}, given.report)
  }
}

async function checkEntry({ path, entry }: Placed, given: Given): Promise<void> {
  const { report } = given
  const [kind, ...more] = kinds.filter(key => entry[key] !== undefined)
  // Another check reports an unknown key, which may be a misspelling of the missing one.
  if (kind === undefined && Object.keys(entry).some(key => !known.has(key))) return
  if (kind === undefined)
    return report.atKey([...path, 'header'], {
      code: 'key_missing',
      message: "'header' is missing",
      remedy: "add 'header' (Name of the header, such as authorization), or 'query' or 'sign' instead",
    })
  if (more.length > 0)
    return report.atKey([...path, more[0] as string], {
      code: 'credential_ambiguous',
      message: `a credential is sent in one way, but this one sets '${kind}' and '${more.join("' and '")}'`,
      remedy: 'keep one of them, or write a list with an entry for each',
    })
  const missing = kind !== 'sign' && entry.value === undefined
  if (missing)
    report.atKey([...path, 'value'], {
      code: 'key_missing',
      message: "'value' is missing",
      remedy: `add 'value' (The complete value: "Bearer \${ALPHA_API_KEY}", or "\${file:/run/secrets/alpha}")`,
    })
  const alien = kind === 'sign' ? 'value' : 'with'
  if (entry[alien] !== undefined)
    report.atKey([...path, alien], {
      code: 'unknown_key',
      message: `'${alien}' has no effect with '${kind}'`,
      remedy: kind === 'sign' ? "put the plugin's options under 'with'" : 'remove it',
    })
  if (kind === 'sign') await checkSigner(path, entry, given)
}

async function checkSigner(path: Path, entry: CredentialEntry, given: Given): Promise<void> {
  const { report, root, source } = given
  const name = entry.sign ?? ''
  const signer = await resolve(name, path, given)
  if (!signer) return
  const options = entry.with ?? {}
  const inside = [...path, 'with']
  const errors = createValidator(signer.options)(options).map(error => ({
    ...error,
    path: [...inside.map(String), ...error.path],
  }))
  // Defaults are filled into the given value.
  if (entry.with === undefined) Object.assign(entry, { with: options })
  reportSchemaErrors(errors, root, source, report)
  if (errors.length > 0) return
  try {
    // The plugin's own schema has validated the options, and their type follows from it.
    for (const { path: at, model: _, ...problem } of signer.inspectOptions?.(options as never) ?? [])
      report.atValue([...inside, ...at], problem)
  } catch (error) {
    const message = `the signing plugin '${name}' failed while it checked its options: ${error instanceof Error ? error.message : String(error)}`
    report.atValue([...path, 'sign'], { code: 'plugin_failed', message })
  }
}

async function resolve(name: string, path: Path, { report, ...given }: Given): Promise<AnySigner | undefined> {
  try {
    const signer = await given.resolveSigner?.(name)
    if (signer) return signer
    const remedy = suggest(name, given.knownSigners)
    const message = `there is no signing plugin '${name}'`
    report.atValue([...path, 'sign'], { code: 'plugin_unknown', message, ...(remedy !== undefined && { remedy }) })
  } catch (error) {
    const message = `the signing plugin '${name}' cannot be loaded: ${error instanceof Error ? error.message : String(error)}`
    report.atValue([...path, 'sign'], {
      code: 'plugin_failed',
      message,
      remedy: 'check that the package or file exists and can be imported',
    })
  }
  return undefined
}

/** If two keys set the same value, only one would be used, and which one is undefined. */
function checkRepeated(entries: readonly Placed[], query: object, report: Report): void {
  const seen = new Set(Object.keys(query).map(name => `query ${name}`))
  for (const { path, entry } of entries) {
    const key = kinds.find(kind => entry[kind] !== undefined)
    if (key === undefined) continue
    const place = key === 'sign' ? key : `${key} ${key === 'header' ? entry.header?.toLowerCase() : entry.query}`
    if (seen.has(place)) {
      const message = key === 'sign' ? 'a request can be signed only once' : `'${String(entry[key])}' is set twice`
      report.atValue([...path, key], { code: 'credential_repeated', message, remedy: 'keep one of the two' })
    }
    seen.add(place)
  }
}

/** Reports a real upstream whose credential is empty: only `Bearer ` is left of the value. */
export function noteEmptyCredentials(
  settings: unknown,
  upstreams: ReadonlyMap<string, Upstream>,
  report: Report,
): void {
  const written = (settings as { readonly upstreams: { readonly [name: string]: { readonly credential?: unknown } } })
    ?.upstreams
  for (const { name, url } of upstreams.values()) {
    if (url.startsWith('simulator:')) continue
    for (const { path, entry } of credentialEntries(['upstreams', name, 'credential'], written[name]?.credential)) {
      if (entry.value === undefined || !/^(?:Bearer|Basic|Token)?\s*$/i.test(entry.value)) continue
      const message = `the credential of '${name}' is empty; ${url} will refuse its requests`
      const remedy = 'set the variable that it comes from, or remove the credential'
      report.atValue([...path, 'value'], { severity: 'note', code: 'credential_empty', message, remedy })
    }
  }
}
