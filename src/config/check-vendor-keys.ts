import type { Report } from './report.ts'
import type { ModelSettings, UpstreamSettings } from './schema.ts'
import { credentialEntries } from './check-credentials.ts'
import type { Path } from './tree.ts'
import { keyMark } from './vendor-keys.ts'
import { modelMatcher, serves } from '../domain/index.ts'

type ByName<T> = { readonly [name: string]: T }
type Given = { readonly upstreams?: ByName<UpstreamSettings>; readonly models?: ByName<ModelSettings> }

/** Settings that only apply to a credential that the upstream can refuse. */
const keysOnly = ['outcomes', 'on_unknown', 'probe'] as const

/** Checks that an upstream's keys are sent, differ, have a weight, and serve existing models. */
export function checkVendorKeys(settings: unknown, report: Report): void {
  const { upstreams, models } = (settings ?? {}) as Given
  if (typeof upstreams !== 'object' || upstreams === null) return
  for (const [name, own] of Object.entries(upstreams)) {
    const path = ['upstreams', name]
    if (typeof own !== 'object' || own === null || report.broken(path)) continue
    checkMark(path, own, report)
    if (!own.keys) continue
    checkSecrets([...path, 'keys'], own.keys, report)
    checkWeights([...path, 'keys'], own.keys, report)
    checkModels(name, own.keys, modelsOn(name, models ?? {}), report)
  }
}

/** Checks that `{key}` is in the credential of an upstream with keys, and nowhere else. */
function checkMark(path: Path, own: UpstreamSettings, report: Report): void {
  const entries = credentialEntries([...path, 'credential'], own.credential)
  const marked = entries.filter(({ entry }) => JSON.stringify([entry.value, entry.with]).includes(keyMark))
  const [first] = marked
  if (own.keys && !first && report.knows([...path, 'credential']))
    report.atKey([...path, 'keys'], {
      code: 'key_mark_missing',
      message: `the keys are never sent: no credential has ${keyMark} in its value`,
      remedy: `write credential: { header: authorization, value: "Bearer ${keyMark}" }`,
    })
  if (own.keys) return
  if (first)
    report.atValue([...first.path, first.entry.sign === undefined ? 'value' : 'with'], {
      code: 'keys_missing',
      message: `${keyMark} is replaced by one of 'keys', but the upstream has none`,
      remedy: 'add keys: { first: { value: "${ALPHA_KEY_1}" } }, or write the secret itself as ${ALPHA_API_KEY}',
    })
  if (entries.length > 0) return
  for (const key of keysOnly)
    if (own[key] !== undefined)
      report.atKey([...path, key], {
        severity: 'note',
        code: 'keys_missing',
        message: `'${key}' only has an effect on an upstream with 'keys' or a credential`,
        remedy: 'set its key, or remove this',
      })
}

function checkSecrets(path: Path, keys: NonNullable<UpstreamSettings['keys']>, report: Report): void {
  const seen = new Map<string, string>()
  for (const [name, { value }] of Object.entries(keys)) {
    const other = seen.get(value)
    seen.set(value, name)
    if (value.trim() === '')
      report.atValue([...path, name, 'value'], {
        severity: 'note',
        code: 'credential_empty',
        message: `the key '${name}' is empty; the upstream will refuse its requests`,
        remedy: 'set the variable that it comes from, or remove the key',
      })
    else if (other !== undefined)
      report.atValue([...path, name, 'value'], {
        code: 'vendor_key_repeated',
        message: `'${name}' has the same value as '${other}'`,
        remedy: 'keep one of the two; weight gives it a larger share',
      })
  }
}

function checkWeights(path: Path, keys: NonNullable<UpstreamSettings['keys']>, report: Report): void {
  if (Object.values(keys).some(({ weight }) => weight > 0)) return
  report.atKey(path, {
    code: 'vendor_keys_weightless',
    message: 'no key has a weight over 0: none of them is ever used',
    remedy: 'give one of them weight: 1',
  })
}

function checkModels(
  upstream: string,
  keys: NonNullable<UpstreamSettings['keys']>,
  known: readonly string[],
  report: Report,
): void {
  const path = ['upstreams', upstream, 'keys']
  const isKnown = modelMatcher(known)
  for (const [name, { models }] of Object.entries(keys))
    for (const [i, pattern] of (models ?? []).entries()) {
      if (isKnown(pattern)) continue
      report.atValue([...path, name, 'models', i], {
        code: 'vendor_key_model_unknown',
        message: `no model '${pattern}' runs on '${upstream}'`,
        remedy: known.length > 0 ? `these do: ${known.slice(0, 10).join(', ')}` : 'remove it',
      })
    }
  for (const model of known)
    if (!Object.values(keys).some(({ models, weight }) => weight > 0 && serves(models, model)))
      report.atKey(path, {
        severity: 'note',
        code: 'vendor_key_model_unserved',
        message: `no key serves the model '${model}'`,
        remedy: 'add it to the models of one of them',
      })
}

function modelsOn(upstream: string, models: ByName<ModelSettings>): readonly string[] {
  return Object.entries(models).flatMap(([name, own]) => {
    if (typeof own !== 'object' || own === null) return []
    const isHere = own.upstream === upstream || own.upstreams?.some(one => one.upstream === upstream)
    return isHere === true ? name : []
  })
}
