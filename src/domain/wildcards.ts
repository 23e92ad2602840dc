// Models with a `*` in their name. They serve every matching name without an exact entry or a more specific wildcard.
import { covers, overlap, parseWildcard } from './model-names.ts'
import type { Model } from './model.ts'

/** The maximum length of a name for a wildcard: clients choose it, and logs and charges store it. */
export const nameLengthMax = 200
/** The maximum number of cached models for names that only a wildcard serves. */
const keptMax = 1_000
/**
 * The valid text for a `*` in a client's name. It becomes part of upstream paths and bodies, so no segment is empty,
 * `.` or `..`.
 */
const openName = /^[\w.:@+-]+(?:\/[\w.:@+-]+)*$/

/** The number of `*` in a name of `models`. */
export const starsIn = (name: string): number => name.split('*').length - 1

/** The part of a name that matches the `*`; undefined for a name that does not match. */
export function starOf(wildcard: string, name: string): string | undefined {
  const { prefix, suffix } = parseWildcard(wildcard) ?? { prefix: name, suffix: '' }
  if (name.length <= prefix.length + suffix.length || !name.startsWith(prefix) || !name.endsWith(suffix))
    return undefined
  return name.slice(prefix.length, name.length - suffix.length)
}

/** Whether a client may request this name from a wildcard: it is plain, and not too long. */
export function isOpenName(name: string): boolean {
  return name.length <= nameLengthMax && openName.test(name) && !name.split('/').some(part => /^\.{1,2}$/.test(part))
}

/** `vendor/*` with the star replaced. */
export function fillStar(template: string, star: string): string {
  const at = template.indexOf('*')
  return at === -1 ? template : template.slice(0, at) + star + template.slice(at + 1)
}

/** Sorts the most specific first: by the text before the `*`, then by the text after it. */
export function bySpecificity(one: string, other: string): number {
  const [a, b] = [parseWildcard(one), parseWildcard(other)]
  if (!a || !b) return Number(a !== undefined) - Number(b !== undefined)
  return b.prefix.length - a.prefix.length || b.suffix.length - a.suffix.length || (one < other ? -1 : 1)
}

/** The wildcard that serves a name; `wildcards` are in the order of `bySpecificity`. */
export function wildcardFor(name: string, wildcards: readonly string[]): string | undefined {
  return isOpenName(name) ? wildcards.find(one => starOf(one, name) !== undefined) : undefined
}

/** Whether a name in a list of models, which may have a `*`, covers names that a wildcard serves. */
export function mayServe(wildcard: string, listed: string): boolean {
  const [wide, own] = [parseWildcard(wildcard), parseWildcard(listed)]
  if (!wide || starsIn(listed) > 1) return false
  if (!own) return isOpenName(listed) && starOf(wildcard, listed) !== undefined
  return overlap(wide, own)
}

/** Finds out whether a name in a list of models, which may have a `*`, is or matches one of these models. */
export function modelMatcher(known: readonly string[]): (listed: string) => boolean {
  const names = new Set(known)
  const wildcards = known.filter(name => starsIn(name) > 0)
  return listed =>
    names.has(listed) ||
    (starsIn(listed) > 0 && known.some(name => covers(listed, name))) ||
    wildcards.some(wildcard => mayServe(wildcard, listed))
}

/** The models of a configuration by name. `get` also finds models of wildcards; iteration lists only known names. */
export class Models extends Map<string, Model> {
  readonly #wildcards: readonly Model[]
  /** By name, the latest last. */
  readonly #kept = new Map<string, Model>()

  /**
   * `wildcards`: the most specific first. One without prices serves no further names, and blocks less specific ones.
   */
  constructor(exact: Iterable<readonly [string, Model]>, wildcards: readonly Model[]) {
    super(exact)
    this.#wildcards = wildcards
  }

  override get(name: string): Model | undefined {
    return super.get(name) ?? (this.#wildcards.length === 0 ? undefined : this.#fit(name))
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined
  }

  #fit(name: string): Model | undefined {
    const kept = this.#kept.get(name)
    if (kept) {
      this.#kept.delete(name)
      this.#kept.set(name, kept)
      return kept
    }
    const wildcard = findWildcard(this.#wildcards, name)
    if (!wildcard || isUnpriced(wildcard)) return undefined
    const model = modelOf(wildcard, name)
    const [oldest] = this.#kept.size >= keptMax ? this.#kept.keys() : []
    if (oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(name, model)
    return model
  }
}

/** The wildcard that serves a name; `wildcards` have the most specific first. */
export function findWildcard(wildcards: readonly Model[] | undefined, name: string): Model | undefined {
  if (!wildcards || !isOpenName(name)) return undefined
  return wildcards.find(one => starOf(one.name, name) !== undefined)
}

/** Whether a wildcard serves only names with a separate price. */
export function isUnpriced({ free, prices }: Model): boolean {
  return !free && prices.size === 0
}

/** The metrics label of a model: its name, or the wildcard if clients choose the name. */
export function seriesName({ models }: Plan, name: string): string {
  const { unlisted, wildcard } = models.get(name) ?? {}
  return (unlisted && wildcard) ?? name
}

/** Whether a model has all settings except its price from a wildcard. */
export function isDerived({ name, wildcard }: Model): boolean {
  return wildcard !== undefined && wildcard !== name
}

type Plan = { readonly models: ReadonlyMap<string, Model>; readonly wildcards?: readonly Model[] }

/** The models of the file: wildcards, without the names that match them. */
export function configuredModels({ models, wildcards = [] }: Plan): readonly Model[] {
  return [...[...models.values()].filter(model => !isDerived(model)), ...wildcards]
}

/** The models with a price: each name, and the wildcards that serve further names. */
export function pricedModels({ models, wildcards = [] }: Plan): readonly Model[] {
  return [...models.values(), ...wildcards.filter(one => !isUnpriced(one))]
}

/** Whether a name in a list of models, which may have a `*`, covers a model that the plan offers or may offer. */
export function isOffered({ models, wildcards = [] }: Plan, listed: string): boolean {
  return models.keys().some(name => covers(listed, name)) || wildcards.some(({ name }) => mayServe(name, listed))
}

function modelOf(wildcard: Model, name: string): Model {
  const star = starOf(wildcard.name, name) ?? ''
  const upstreams = wildcard.upstreams.map(one => Object.freeze({ ...one, sendAs: fillStar(one.sendAs, star) }))
  return Object.freeze({ ...wildcard, name, unlisted: true as const, upstreams: Object.freeze(upstreams) })
}
