import { createHash } from 'node:crypto'
import type { Credential, OutcomeRow, Upstream, VendorKey } from '../domain/index.ts'
import { parseMoney } from '../util/index.ts'
import type { OutcomeSettings, UpstreamSettings, VendorKeySettings } from './schema.ts'

/** The placeholder of a key in the values of a credential. */
export const keyMark = '{key}'
/** For a shorter secret, no characters are shown. */
const hintedFrom = 24

/** The name of the only key of an upstream without a list of keys. */
const onlyKeyName = 'credential'

/** The only upstream of a vendor reports with these statuses that it cannot serve, with or without a message. */
const unable: OutcomeRow = { status: [503, 529], class: 'not_sold', key: 'none' }

/** One copy of the upstream for each of its keys, with that key's credential. The upstream itself has none. */
export function withKeys(upstream: Upstream, own: UpstreamSettings): Upstream {
  const rules = rulesOf(own)
  const keys = Object.entries(own.keys ?? {}).map(([name, key]) => toKey(name, key, { ...upstream, ...rules }))
  return { ...upstream, ...rules, credential: [], keys }
}

/** The upstream with its credential as its only key. An upstream without a secret is unchanged. */
export function withOnlyKey(upstream: Upstream, own: UpstreamSettings): Upstream {
  const { name, credential } = upstream
  const secrets = credential.flatMap(one => (one.kind === 'sign' ? one.secrets : one.value)).map(bareOf)
  if (!credential.some(({ kind }) => kind === 'sign') && secrets.every(one => one === '')) return upstream
  const rules = rulesOf(own)
  const kept = { ...upstream, ...rules, outcomes: [...(rules.outcomes ?? []), unable] }
  const key: VendorKey = {
    name: onlyKeyName,
    id: `${name}/${onlyKeyName}`,
    upstream: { ...kept, key: onlyKeyName },
    hash: hashOf(JSON.stringify(credential.map(one => (one.kind === 'sign' ? [one.options, one.secrets] : one.value)))),
    hint: secrets.length === 1 ? hintOf(secrets[0] ?? '') : '',
    weight: 1,
    isOnly: true,
  }
  return { ...kept, keys: [key] }
}

/** A secret without its scheme, such as `Bearer`. */
function bareOf(text: string): string {
  return text.trim().replace(/^(?:bearer|basic|token|key)(?:\s+|$)/i, '')
}

function rulesOf(own: UpstreamSettings): Pick<Upstream, 'outcomes' | 'paysTwice' | 'probePath'> {
  return {
    ...(own.outcomes && { outcomes: own.outcomes.map(toRow) }),
    ...(own.on_unknown === 'pay_twice' && { paysTwice: true }),
    probePath: own.probe?.path ?? '/v1/models',
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

function toKey(name: string, own: VendorKeySettings, upstream: Upstream): VendorKey {
  const { value, weight, models, rpm, tpm, concurrency, budget } = own
  const credential = upstream.credential.map(one => fillCredential(one, value))
  return {
    name,
    id: `${upstream.name}/${name}`,
    upstream: { ...upstream, credential, key: name },
    hash: hashOf(value),
    hint: hintOf(value),
    weight,
    ...(models && { models }),
    ...(rpm !== undefined && { rpm }),
    ...(tpm !== undefined && { tpm }),
    ...(concurrency !== undefined && { concurrency }),
    ...(budget && { budget: { amount: parseMoney(budget.amount) as number, per: budget.per } }),
  }
}

/** The last four characters of a text that is long enough to remain secret without them. */
function hintOf(value: string): string {
  return value.length < hintedFrom || /\s/.test(value) ? '' : `…${value.slice(-4)}`
}

function fillCredential(credential: Credential, key: string): Credential {
  if (credential.kind !== 'sign') return { ...credential, value: credential.value.replaceAll(keyMark, () => key) }
  return { ...credential, options: fillAll(credential.options, key), secrets: [...credential.secrets, key] }
}

/** Replaces the placeholder in every text of a signing plugin's settings. */
function fillAll(value: unknown, key: string): unknown {
  if (typeof value === 'string') return value.replaceAll(keyMark, () => key)
  if (Array.isArray(value)) return value.map(one => fillAll(one, key))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fillAll(one, key)]))
}

function toRow(own: OutcomeSettings): OutcomeRow {
  const { status, at, codes, mentions, where, class: saleClass, key, confirm } = own
  return {
    status: typeof status === 'number' ? [status] : status,
    ...(at !== undefined && { at }),
    ...(codes && { codes }),
    ...(mentions && { mentions }),
    ...(where !== undefined && { where }),
    class: saleClass,
    key,
    ...(confirm && { confirm }),
  }
}
