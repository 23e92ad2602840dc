import type { Plan } from '../kit/index.ts'
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
  for (const { name, credential, headers } of after.upstreams.values()) {
    const old = before.upstreams.get(name)
    if (old?.credential && credential && old.credential.value !== credential.value) {
      lines.push(`upstreams.${name}.credential.value: changed`)
    }
    for (const [header, value] of Object.entries(headers)) {
      const was = old?.headers[header]
      if (was !== undefined && was !== value) lines.push(`upstreams.${name}.headers.${header}: changed`)
    }
  }
  return lines
}
