import { bySpecificity, fillStar, starOf, starsIn, wildcardFor } from '../../domain/index.ts'
import { type Entry, entryOf, type MapTree, toValue, type Tree, withEntry, withoutEntries } from '../tree.ts'
import type { PlacedRow } from './read-table.ts'

/** An entry of `models` for one row of a price table, derived from a wildcard. */
export type NamedModel = { readonly entry: Entry & { readonly value: MapTree }; readonly wildcard: string }

/** Settings of a wildcard about its default price or the list of its names. */
const ownPrice = ['prices', 'overrides', 'times']

/**
 * The names that rows give to wildcards: one for each row with a matching name, unless an exact entry or a more
 * specific wildcard serves it. A wildcard with `price: free` has none, because all of its names are free.
 */
export function nameModels(models: readonly Entry[], rows: readonly PlacedRow[]): readonly NamedModel[] {
  const exact = new Set(models.map(({ key }) => key))
  const wildcards = models.filter(({ key }) => starsIn(key) === 1).toSorted((a, b) => bySpecificity(a.key, b.key))
  const names = wildcards.map(({ key }) => key)
  return wildcards.flatMap(({ key: wildcard, keySpan, value }) => {
    if (value.kind !== 'map' || entryOf(value, 'price')) return []
    const found = new Map<string, NamedModel>()
    for (const row of rows.filter(isListed(value)))
      for (const name of namesOf(wildcard, value, row)) {
        if (exact.has(name) || found.has(name) || wildcardFor(name, names) !== wildcard) continue
        const star = starOf(wildcard, name) ?? ''
        const own = fillNames(entryOf(value, 'prices') ? withoutEntries(value, ...ownPrice) : value, star)
        found.set(name, { wildcard, entry: { key: name, keySpan, value: withoutEntries(own, 'listed') } })
      }
    return [...found.values()]
  })
}

/** A filter for the rows that a wildcard's `listed` allows. */
function isListed(model: MapTree): (row: PlacedRow) => boolean {
  const listed = entryOf(model, 'listed')?.value
  const of = (key: string): readonly unknown[] | undefined => {
    const found = entryOf(listed, key)?.value
    return found?.kind === 'list' ? (toValue(found) as readonly unknown[]) : undefined
  }
  const [modes, providers] = [of('modes'), of('providers')]
  return ({ mode, provider }) => (modes?.includes(mode) ?? true) && (providers?.includes(provider) ?? true)
}

/** The client's name for the model of a row, by each upstream's name for it. */
function namesOf(wildcard: string, model: MapTree, { id }: PlacedRow): readonly string[] {
  const shared = textOf(model, 'send_as')
  const several = entryOf(model, 'upstreams')?.value
  const places = several?.kind === 'list' ? several.elements : [model]
  return places.flatMap(place => {
    const template = textOf(place, 'send_as') ?? shared ?? wildcard
    const prefix = `${textOf(place, 'upstream') ?? ''}/`
    const sent = id.startsWith(prefix) ? [id, id.slice(prefix.length)] : [id]
    return sent.flatMap(name => {
      const star = template.includes('*') ? starOf(template, name) : undefined
      return star === undefined ? [] : [fillStar(wildcard, star)]
    })
  })
}

/** The model with the star replaced in all names for upstreams. */
function fillNames(model: MapTree, star: string): MapTree {
  const several = entryOf(model, 'upstreams')
  const own = fillName(model, star)
  if (several?.value.kind !== 'list') return own
  const elements = several.value.elements.map(one => (one.kind === 'map' ? fillName(one, star) : one))
  return withEntry(own, { ...several, value: { ...several.value, elements } })
}

function fillName(place: MapTree, star: string): MapTree {
  const entry = entryOf(place, 'send_as')
  if (entry?.value.kind !== 'scalar' || typeof entry.value.value !== 'string') return place
  return withEntry(place, { ...entry, value: { ...entry.value, value: fillStar(entry.value.value, star) } })
}

function textOf(tree: Tree, key: string): string | undefined {
  const value = entryOf(tree, key)?.value
  return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined
}
