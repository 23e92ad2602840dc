import type { Credential, Plan } from '../kit/index.ts'
import { compareSettings } from './compare-settings.ts'

/**
 * What is different in `after`, one line each, prices first, then models, then everything else by its path.
 * A changed secret is told as changed, never shown.
 */
export function describeChanges(before: Plan, after: Plan): string[] {
  return [...compareSettings(before.settings, after.settings), ...credentialChanges(before, after)]
}

/** Their values are covered, so a change of one would not be seen among the rest. */
function credentialChanges(before: Plan, after: Plan): string[] {
  const lines: string[] = []
  for (const { name, credential, headers, query } of after.upstreams.values()) {
    const old = before.upstreams.get(name)
    if (!old) continue
    const isOne = credential.length === 1 && old.credential.length === 1
    for (const [i, one] of credential.entries()) {
      const was = old.credential[i]
      if (was?.kind !== one.kind || secretOf(was) === secretOf(one)) continue
      const member = one.kind === 'sign' ? 'with' : 'value'
      lines.push(`upstreams.${name}.credential${isOne ? '' : `[${i}]`}.${member}: changed`)
    }
    lines.push(...changedValues(old.headers, headers).map(header => `upstreams.${name}.headers.${header}: changed`))
    lines.push(...changedValues(old.query, query).map(param => `upstreams.${name}.query.${param}: changed`))
  }
  return lines
}

function secretOf(credential: Credential): string {
  return credential.kind === 'sign' ? JSON.stringify(credential.secrets) : credential.value
}

type Values = { readonly [name: string]: string }

/** Names of what both have and say otherwise. */
function changedValues(before: Values, after: Values): readonly string[] {
  return Object.entries(after).flatMap(([name, value]) =>
    before[name] !== undefined && before[name] !== value ? name : [],
  )
}
