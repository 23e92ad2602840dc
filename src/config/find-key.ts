import { anyName, type KeyFacts } from './key-facts.ts'
import { findNear } from './suggest.ts'

export type FoundKey =
  | { readonly ok: true; readonly facts: KeyFacts }
  /** `near`: complete paths of similar names; empty if there are none. */
  | { readonly ok: false; readonly near: readonly string[] }

const nearMax = 12

/**
 * Finds a key by its path, with or without the names in it (`models.prices`, `models.gpt-4.prices`), by a plugin's
 * section (`image-tier-billing.tier_from`), or by its own name if only one key has this name.
 */
export function findKey(wanted: string, keys: readonly KeyFacts[]): FoundKey {
  const steps = stepsOf(wanted)
  const exact =
    keys.find(({ path }) => fits(stepsOf(path), steps, false)) ??
    keys.find(({ path }) => !path.endsWith(anyName) && fits(stepsOf(path), steps, true))
  if (exact) return { ok: true, facts: exact }
  const endings = keys.filter(({ path }) => endsWith(stepsOf(path), steps))
  const [only, ...more] = endings.length > 1 ? endings.filter(isSection) : endings
  if (only && more.length === 0) return { ok: true, facts: only }
  if (endings.length > 0) return { ok: false, near: endings.slice(0, nearMax).map(({ path }) => withoutNames(path)) }
  const near = nearest(steps, keys)
  const named = near.length > 0 ? undefined : keys.find(({ path }) => fits(stepsOf(path), steps, true))
  return named ? { ok: true, facts: named } : { ok: false, near }
}

/** True for a plugin's section of a family. A plugin may have options too; its name alone means the section. */
function isSection({ path }: KeyFacts): boolean {
  return /^families\.NAME\.[^.]+$/.test(path)
}

function stepsOf(path: string): readonly string[] {
  return path
    .replaceAll(/\[["']?([^\]"']*)["']?\]/g, '.$1')
    .split('.')
    .filter(step => step !== '')
}

/** Free names may be missing or, with `named`, be any name; list indexes are ignored. */
function fits(path: readonly string[], wanted: readonly string[], named: boolean): boolean {
  const [step, ...rest] = path
  const [want, ...more] = wanted
  if (want !== undefined && /^\d+$/.test(want)) return fits(path, more, named)
  if (step === undefined) return want === undefined
  if (step !== anyName) return step === want && fits(rest, more, named)
  const taken = want !== undefined && (named || want === anyName) && fits(rest, more, named)
  return taken || (rest.length > 0 && fits(rest, wanted, named))
}

function endsWith(path: readonly string[], wanted: readonly string[]): boolean {
  return path.some((step, i) => i > 0 && step !== anyName && fits(path.slice(i), wanted, false))
}

function withoutNames(path: string): string {
  return stepsOf(path)
    .filter(step => step !== anyName)
    .join('.')
}

/** Keys with a similar name at the same place; otherwise all keys with a similar name. */
function nearest(steps: readonly string[], keys: readonly KeyFacts[]): readonly string[] {
  const known = [...new Set(keys.map(({ path }) => withoutNames(path)))]
  const above = steps.slice(0, -1).join('.')
  const siblings = known.filter(path => path.split('.').slice(0, -1).join('.') === above)
  for (const paths of [siblings, known]) {
    const name = findNear(steps.at(-1) ?? '', [...new Set(paths.map(nameOf))])
    if (name !== undefined) return paths.filter(path => nameOf(path) === name).slice(0, nearMax)
  }
  return []
}

function nameOf(path: string): string {
  return path.split('.').at(-1) ?? ''
}
