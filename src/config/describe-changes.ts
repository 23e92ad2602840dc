import type { Plan } from '../kit/index.ts'
import { compareSettings, type Settings } from './compare-settings.ts'
import { flattenPlan } from './flatten-plan.ts'

/** The secrets of the plans made here; a plan itself does not say which of its values are secret. */
const secretsOf = new WeakMap<Plan, ReadonlySet<string>>()
const none: ReadonlySet<string> = new Set()

/** Keeps a plan's secrets for as long as the plan is there. */
export function rememberSecrets(plan: Plan, secrets: ReadonlySet<string>): void {
  secretsOf.set(plan, secrets)
}

/** Everything that a plan says, by paths in the file's words, its secrets redacted. */
export function effectiveSettings(plan: Plan): Settings {
  return Object.fromEntries(flattenPlan(plan, secretsOf.get(plan) ?? none))
}

/**
 * What is different in `after`, one line each, prices first, then models, then everything else by its path.
 * A changed secret is told as changed, never shown.
 */
export function describeChanges(before: Plan, after: Plan): string[] {
  const secrets = new Set([...(secretsOf.get(before) ?? none), ...(secretsOf.get(after) ?? none)])
  const settings = (plan: Plan): Settings => Object.fromEntries(flattenPlan(plan, secrets))
  return [...compareSettings(settings(before), settings(after)), ...credentialChanges(before, after)]
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
