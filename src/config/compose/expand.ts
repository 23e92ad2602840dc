import type { Report } from '../report.ts'
import type { Source } from '../source.ts'
import { type Entry, entryOf, type MapTree, type Tree, withEntry, withoutEntries } from '../tree.ts'
import { mergeMaps } from './merge.ts'

/** Sections with defaults for all their entries. */
const sections = ['upstreams', 'groups', 'models'] as const
/** An entry has exactly one of these keys. */
const alternatives = [
  ['upstream', 'upstreams', 'routes'],
  ['prices', 'price'],
]
/** Values that are inherited as a whole. */
const undivided = new Set(['prices', 'credential'])
/** Sections that only expand into others. */
export const composing = ['include', 'defaults', 'route_sets', 'model_lists', 'price_tables'] as const

/** Expands the short forms of a configuration: lists of models, defaults, sets of upstreams. */
export function expand(root: Tree, source: Source, report: Report): Tree {
  if (root.kind !== 'map') return root
  return withRouteSets(withDefaults(withModelLists(root, source, report)), report)
}

/** Each name of a list becomes a model of its own with the list's settings. */
function withModelLists(root: MapTree, source: Source, report: Report): MapTree {
  const lists = entryOf(root, 'model_lists')?.value
  if (lists?.kind !== 'map') return root
  const listed: Entry[] = []
  for (const { value: list } of lists.entries) {
    const names = entryOf(list, 'models')
    if (list.kind !== 'map' || !names) continue
    const shared = withoutEntries(list, 'models', 'prices', 'price', 'send_as')
    if (names.value.kind === 'map')
      for (const { key, keySpan, value } of names.value.entries)
        listed.push({ key, keySpan, value: withPrices({ ...shared, span: keySpan }, value) })
    if (names.value.kind === 'list')
      for (const element of names.value.elements)
        if (element.kind === 'scalar' && typeof element.value === 'string')
          listed.push({ key: element.value, keySpan: element.span, value: { ...shared, span: element.span } })
  }
  const models = entryOf(root, 'models')
  if (models && models.value.kind !== 'map') return root
  const [first] = listed
  if (!first) return root
  const none: MapTree = { kind: 'map', span: first.keySpan, entries: [], unknown: false }
  const known = models?.value.kind === 'map' ? models.value : none
  // Added one by one, so that a name in two lists is reported too.
  const value = listed.reduce(
    (whole, entry) => mergeMaps(whole, { ...none, entries: [entry] }, ['models'], { source, report, hidden: [] }),
    known,
  )
  return withEntry(root, { key: 'models', keySpan: models?.keySpan ?? first.keySpan, value })
}

/** `{ input: … }` or `free`; the schema reports other values. */
function withPrices(model: MapTree, value: Tree): MapTree {
  if (value.kind === 'scalar' && value.value === null) return model
  if (value.kind !== 'map' && !(value.kind === 'scalar' && value.value === 'free')) return withUnknownPrice(model)
  const key = value.kind === 'map' ? 'prices' : 'price'
  return { ...model, entries: [...model.entries, { key, keySpan: value.span, value }] }
}

/**
 * The model with an unknown price, so that a price that has a finding, or is in a part with findings, causes no more.
 */
export function withUnknownPrice(model: MapTree): MapTree {
  const { span } = model
  const value: Tree = { kind: 'scalar', span, value: 'free', plain: true, secret: false, filled: false, unknown: true }
  return withEntry(withoutEntries(model, 'prices'), { key: 'price', keySpan: span, value })
}

function withDefaults(root: MapTree): MapTree {
  const defaults = entryOf(root, 'defaults')?.value
  return sections.reduce((whole, section) => {
    const under = entryOf(defaults, section)?.value
    const own = entryOf(whole, section)
    if (under?.kind !== 'map' || own?.value.kind !== 'map') return whole
    const entries = own.value.entries.map(entry => {
      if (entry.value.kind !== 'map') return entry
      return { ...entry, value: layUnder(withoutRivals(under, entry.value), entry.value) }
    })
    return withEntry(whole, { ...own, value: { ...own.value, entries } })
  }, root)
}

function withoutRivals(under: MapTree, own: MapTree): MapTree {
  const taken = alternatives.filter(keys => own.entries.some(({ key }) => keys.includes(key))).flat()
  return withoutEntries(under, ...taken)
}

/** Values of `own` take precedence, also in nested mappings. */
function layUnder(under: MapTree, own: MapTree): MapTree {
  return under.entries.reduce((whole, entry) => {
    const there = entryOf(whole, entry.key)
    if (!there) return { ...whole, entries: [...whole.entries, entry] }
    if (undivided.has(entry.key) || there.value.kind !== 'map' || entry.value.kind !== 'map') return whole
    return withEntry(whole, { ...there, value: layUnder(entry.value, there.value) })
  }, own)
}

/** `routes: NAME` of a model becomes the upstreams of the set. */
function withRouteSets(root: MapTree, report: Report): MapTree {
  const models = entryOf(root, 'models')
  if (models?.value.kind !== 'map') return root
  const sets = entryOf(root, 'route_sets')?.value
  const names = sets?.kind === 'map' ? sets.entries.map(({ key }) => key) : []
  const entries = models.value.entries.map(model => {
    const routes = entryOf(model.value, 'routes')
    if (model.value.kind !== 'map' || routes?.value.kind !== 'scalar' || typeof routes.value.value !== 'string')
      return model
    const { value: name } = routes.value
    const set = entryOf(sets, name)
    if (set && entryOf(model.value, 'upstreams')) {
      const message = 'found upstreams and routes'
      report.add({
        code: 'upstream_twice',
        path: ['models', model.key, 'routes'],
        span: routes.keySpan,
        message,
        remedy: 'keep one of the two',
      })
    }
    if (set) {
      const value = withoutEntries(model.value, 'routes')
      return { ...model, value: withEntry(value, { key: 'upstreams', keySpan: routes.keySpan, value: set.value }) }
    }
    const remedy = report.suggest(name, names)
    report.add({
      code: 'route_set_unknown',
      path: ['models', model.key, 'routes'],
      span: routes.value.span,
      message: `route_sets has no set '${name}'`,
      ...(remedy && { remedy }),
    })
    return { ...model, value: { ...model.value, unknown: true } }
  })
  return withEntry(root, { ...models, value: { ...models.value, entries } })
}
