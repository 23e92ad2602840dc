import { createHash } from 'node:crypto'
import { compareSettings, secretPlaces, showDiff } from '../config/index.ts'
import type { StoredConfig, ConfigDifference, KeptText, CompiledConfig, Upstream } from '../domain/index.ts'
import { secretsOf } from './secrets-of.ts'

/** Enough digits to detect a changed secret, and too few to find the secret. */
const checkDigits = 4
/** The maximum number of secrets with their own fingerprint, to keep it small. All others are compared together. */
const printsMax = 256
/** The maximum for all files together, because a comparison takes time and blocks other requests. */
const changedLinesMax = 20_000
const othersChanged = 'secrets: changed'

/** Settings that differ between replicas if a variable sets them. */
const ownOfReplica = ['server.listen', 'server.ops']

/** A fingerprint, equal for configurations with the same settings and secrets, regardless of paths and addresses. */
export function markOf(plan: CompiledConfig, files: readonly KeptText[]): string {
  const settings = Object.keys(plan.settings)
    .filter(path => !ownOfReplica.includes(path))
    .sort()
    .map(path => [path, plan.settings[path]])
  // Patterns are tried in the order written.
  const routes = Object.keys(plan.settings).filter(path => path.startsWith('routes'))
  const digest = createHash('sha256')
    .update(JSON.stringify([settings, routes, files.map(({ file, text }) => [file, text])]))
    .digest('hex')
  // Redacted values are secrets, and other values such as a header whose name does not indicate a secret.
  const secrets = [...new Set([...secretsOf(plan), ...coveredIn(plan)])].sort()
  const check = createHash('sha256').update(JSON.stringify(secrets)).digest('hex').slice(0, checkDigits)
  return `${digest.slice(0, 32)} ${check} ${JSON.stringify(printsOf(plan))}`
}

type Prints = { readonly [place: string]: string }

/** Four digits for each secret, salted with its path: a change is visible, but not whether two secrets are equal. */
function printsOf(plan: CompiledConfig): Prints {
  const places = [...secretPlaces(plan)]
  if (places.length > printsMax) return {}
  return Object.fromEntries(
    places.map(([place, value]) => [
      place,
      createHash('sha256').update(`${place}\n${value}`).digest('hex').slice(0, checkDigits),
    ]),
  )
}

type Mark = { readonly digest: string; readonly check: string; readonly prints: Prints }

/** Fingerprints of earlier versions have no secrets. */
function readMark(mark: string): Mark {
  const [digest = '', check = '', ...prints] = mark.split(' ')
  return { digest, check, prints: readPrints(prints.join(' ')) }
}

function readPrints(text: string): Prints {
  try {
    return JSON.parse(text) as Prints
  } catch {
    return {}
  }
}

/** Whether two fingerprints are of one configuration, as far as both contain it. */
export function isSameMark(one: string, other: string): boolean {
  const [a, b] = [readMark(one), readMark(other)]
  return a.digest === b.digest && a.check === b.check && changedPrints(a, b).length === 0
}

/** Paths of secrets that both have, with different values. */
function changedPrints({ prints: before }: Mark, { prints: after }: Mark): readonly string[] {
  return Object.keys(after).filter(place => before[place] !== undefined && before[place] !== after[place])
}

function* coveredIn({ upstreams, families, otlp }: CompiledConfig): Iterable<string> {
  for (const { name, url, credential, headers, query, calls } of upstreams.values()) {
    const secrets = credential.map(one => (one.kind === 'sign' ? one.secrets : one.value))
    yield JSON.stringify(['upstreams', name, url, secrets, byName(headers), byName(query), callsOf(calls)])
  }
  for (const { name, calls } of families.values()) yield JSON.stringify(['families', name, callsOf(calls)])
  yield JSON.stringify(['otlp', byName(otlp?.headers ?? {})])
}

function callsOf(calls: Upstream['calls'] | undefined) {
  return [...(calls ?? [])].map(([operation, { headers, query }]) => [operation, byName(headers), byName(query)])
}

function byName(values: { readonly [name: string]: string }) {
  return Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1))
}

/** The changes of a configuration, one line each; secrets only as changed. `known` are secrets with a known path. */
export function describeTaken(
  before: Pick<StoredConfig, 'settings' | 'mark'>,
  after: Pick<StoredConfig, 'settings' | 'mark'>,
  known: readonly string[] = [],
): readonly string[] {
  const changes = compareSettings(before.settings, after.settings)
  if (known.length > 0) return [...changes, ...known.filter(line => !changes.includes(line))]
  const [was, is] = [readMark(before.mark), readMark(after.mark)]
  const lines = changedPrints(was, is).map(place => `${place}: changed`)
  if (lines.length > 0) return [...changes, ...lines.filter(line => !changes.includes(line))]
  return was.check === is.check ? changes : [...changes, othersChanged]
}

/** Without an earlier configuration, all of its files are new, and no changes are listed. */
export function diffConfigs(before: StoredConfig | undefined, after: StoredConfig): ConfigDifference {
  // The secrets' changes were recorded when the configuration took effect; the texts do not show them.
  const known = before?.id === after.id - 1 ? after.changes.filter(line => line.endsWith(': changed')) : []
  const [oldTexts, newTexts] = [textsOf(before), textsOf(after)]
  let left = changedLinesMax
  const files = [...new Set([...newTexts.keys(), ...oldTexts.keys()])].flatMap(file => {
    const [was, is] = [oldTexts.get(file), newTexts.get(file)]
    if (was === null || is === null) return was === is ? [] : [{ file, hunks: [], kept: false, patch: '' }]
    if (was === is) return []
    const [old, now] = [(was ?? '').split('\n'), (is ?? '').split('\n')]
    left -= changedBetween(old, now)
    if (left < 0) return [{ file, hunks: [], kept: false, patch: '' }]
    const { hunks, patch = '' } = showDiff(file, { text: was ?? '', lines: [] }, { text: is ?? '', lines: [] })
    return [{ file, hunks, kept: true, patch }]
  })
  return { changes: before ? describeTaken(before, after, known) : [], files }
}

function textsOf(kept: StoredConfig | undefined): ReadonlyMap<string, string | null> {
  return new Map(kept?.files.map(({ file, text }) => [file, text]))
}

/** The number of lines of both between the common beginning and the common end. */
function changedBetween(was: readonly string[], is: readonly string[]): number {
  const shorter = Math.min(was.length, is.length)
  let head = 0
  while (head < shorter && was[head] === is[head]) head++
  let tail = 0
  while (tail < shorter - head && was.at(-1 - tail) === is.at(-1 - tail)) tail++
  return was.length + is.length - 2 * (head + tail)
}
