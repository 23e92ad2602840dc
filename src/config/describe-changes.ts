import type { Credential, CompiledConfig } from '../domain/index.ts'
import { compareSettings } from './compare-settings.ts'

/**
 * The differences, one line each: prices first, then models, then everything else by path. A changed secret is reported
 * as changed, never shown.
 */
export function describeChanges(before: CompiledConfig, after: CompiledConfig): string[] {
  return [...compareSettings(before.settings, after.settings), ...secretChanges(before, after)]
}

/** Changed secrets, which settings do not show. */
export function secretChanges(before: CompiledConfig, after: CompiledConfig): string[] {
  return [...credentialChanges(before, after), ...secretFileChanges(before, after)]
}

/** A secret may be anywhere in the file, and its position does not always show its purpose. */
function secretFileChanges({ secretFiles: before }: CompiledConfig, { secretFiles: after }: CompiledConfig): string[] {
  return [...after].flatMap(([path, mark]) =>
    (before.get(path) ?? mark) === mark ? [] : `secret file ${path}: changed`,
  )
}

/** Compared separately, because settings show their values redacted, so that changes would be invisible. */
function credentialChanges(before: CompiledConfig, after: CompiledConfig): string[] {
  const lines: string[] = []
  for (const { name, credential, headers, query, keys = [] } of after.upstreams.values()) {
    const old = before.upstreams.get(name)
    if (!old) continue
    const isOne = credential.length === 1 && old.credential.length === 1
    for (const [i, one] of credential.entries()) {
      const was = old.credential[i]
      if (was?.kind !== one.kind || secretOf(was) === secretOf(one)) continue
      const member = one.kind === 'sign' ? 'with' : 'value'
      lines.push(`upstreams.${name}.credential${isOne ? '' : `[${i}]`}.${member}: changed`)
    }
    for (const key of keys) {
      const was = old.keys?.find(one => one.name === key.name)
      if (was && was.hash !== key.hash && key.isOnly !== true)
        lines.push(`upstreams.${name}.keys.${key.name}.value: changed`)
    }
    lines.push(...changedValues(old.headers, headers).map(header => `upstreams.${name}.headers.${header}: changed`))
    lines.push(...changedValues(old.query, query).map(param => `upstreams.${name}.query.${param}: changed`))
  }
  return lines
}

/** The places of upstreams' secrets, as in reports of changes, each with its value or a hash of it. */
export function* secretPlaces({ upstreams }: CompiledConfig): Iterable<readonly [place: string, value: string]> {
  for (const { name, credential, headers, query, keys = [] } of upstreams.values()) {
    const own = `upstreams.${name}`
    for (const [i, one] of credential.entries()) {
      const at = credential.length === 1 ? '' : `[${i}]`
      yield [`${own}.credential${at}.${one.kind === 'sign' ? 'with' : 'value'}`, secretOf(one)]
    }
    for (const key of keys) yield [`${own}.keys.${key.name}.value`, key.hash]
    for (const [header, value] of Object.entries(headers)) yield [`${own}.headers.${header}`, value]
    for (const [param, value] of Object.entries(query)) yield [`${own}.query.${param}`, value]
  }
}

function secretOf(credential: Credential): string {
  return credential.kind === 'sign' ? JSON.stringify(credential.secrets) : credential.value
}

type Values = { readonly [name: string]: string }

/** Names that both have, with different values. */
function changedValues(before: Values, after: Values): readonly string[] {
  return Object.entries(after).flatMap(([name, value]) =>
    before[name] !== undefined && before[name] !== value ? name : [],
  )
}
