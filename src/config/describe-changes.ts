import { formatMoney, type Model, type Plan } from '../kit/index.ts'
import { flattenPlan } from './flatten-plan.ts'
import { formatPath } from './tree.ts'

/** The secrets of the plans made here; a plan itself does not say which of its values are secret. */
const secretsOf = new WeakMap<Plan, ReadonlySet<string>>()
const none: ReadonlySet<string> = new Set()

/** Keeps a plan's secrets for as long as the plan is there. */
export function rememberSecrets(plan: Plan, secrets: ReadonlySet<string>): void {
  secretsOf.set(plan, secrets)
}

/**
 * What is different in `after`, one line each, prices first, then models, then everything else by its path.
 * A changed secret is told as changed, never shown.
 */
export function describeChanges(before: Plan, after: Plan): string[] {
  const lines = [...priceChanges(before, after), ...modelChanges(before, after)]
  const secrets = new Set([...(secretsOf.get(before) ?? none), ...(secretsOf.get(after) ?? none)])
  const old = flattenPlan(before, secrets)
  const now = flattenPlan(after, secrets)
  const told = toldPaths(before, after)
  for (const path of new Set([...old.keys(), ...now.keys()])) {
    const [from, to] = [old.get(path), now.get(path)]
    if (
      from === to ||
      told.some(start => path === start || path.startsWith(`${start}.`) || path.startsWith(`${start}[`))
    )
      continue
    lines.push(`${path}: ${from ?? 'absent'} → ${to ?? 'absent'}`)
  }
  return [...lines, ...credentialChanges(before, after)]
}

/** Everything that a plan says, by paths in the file's words, its secrets covered. */
export function effectiveSettings(plan: Plan): { readonly [path: string]: string } {
  return Object.fromEntries(flattenPlan(plan, secretsOf.get(plan) ?? none))
}

/** Where the lines about prices and whole models come from: not to be told again. */
function toldPaths(before: Plan, after: Plan): readonly string[] {
  const paths = ['currency']
  for (const name of new Set([...before.models.keys(), ...after.models.keys()])) {
    if (!before.models.has(name) || !after.models.has(name)) paths.push(formatPath(['models', name]))
    else paths.push(formatPath(['models', name, 'prices']), formatPath(['models', name, 'free']))
  }
  return paths
}

function priceChanges(before: Plan, after: Plan): string[] {
  const lines: string[] = []
  if (before.currency !== after.currency) lines.push(`currency: ${before.currency} → ${after.currency}`)
  for (const model of after.models.values()) {
    const old = before.models.get(model.name)
    if (!old) continue
    for (const label of new Set([...old.prices.keys(), ...model.prices.keys()])) {
      const [from, to] = [priceText(old, label, before), priceText(model, label, after)]
      if (from !== to) lines.push(`price of ${model.name} ${label}: ${from} → ${to}`)
    }
    if (old.free !== model.free) lines.push(`price of ${model.name}: ${model.free ? 'now free' : 'no longer free'}`)
  }
  return lines
}

function modelChanges(before: Plan, after: Plan): string[] {
  const added = [...after.models.values()].filter(model => !before.models.has(model.name))
  const removed = [...before.models.keys()].filter(name => !after.models.has(name))
  return [
    ...added.map(model => `model ${model.name} added (${pricesText(model, after)})`),
    ...removed.map(name => `model ${name} removed`),
  ]

  function pricesText(model: Model, plan: Plan): string {
    if (model.free) return 'free'
    return [...model.prices.keys()].map(label => `${label} ${priceText(model, label, plan)}`).join(', ') || 'no price'
  }
}

function priceText(model: Model, label: string, plan: Plan): string {
  const price = model.prices.get(label)
  return price ? `${formatMoney(price.micros)} ${plan.currency}` : 'none'
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
