/** Offsets into the text, end exclusive. */
export type Span = { readonly start: number; readonly end: number }

export type Path = readonly (string | number)[]

/** A configuration file as nodes, each with its place, independent of the YAML package. */
export type Tree = ScalarTree | MapTree | ListTree

export type ScalarTree = {
  readonly kind: 'scalar'
  readonly span: Span
  readonly value: string | number | boolean | null
  /** Whether it is written without quotes, and not as a block of text. */
  readonly plain: boolean
  /** Whether it is, or may be, a secret. */
  readonly secret: boolean
  /** Whether a reference such as `${VAR}` was filled in, so that its type is still text. */
  readonly filled: boolean
  /** Whether it has a finding already, so that the intended value is unknown. */
  readonly unknown: boolean
}

export type Entry = { readonly key: string; readonly keySpan: Span; readonly value: Tree }

export type MapTree = {
  readonly kind: 'map'
  readonly span: Span
  readonly entries: readonly Entry[]
  /** Whether some of its keys have findings already, so that a missing key proves nothing. */
  readonly unknown: boolean
}

export type ListTree = { readonly kind: 'list'; readonly span: Span; readonly elements: readonly Tree[] }

/** The node at a path, and its key if it is in a mapping. */
export type Found = { readonly node: Tree; readonly keySpan: Span | undefined; readonly whole: boolean }

/** The node at a path, or the nearest above it that exists (`whole` is then false). */
export function findNode(root: Tree, path: Path): Found {
  let found: Found = { node: root, keySpan: undefined, whole: true }
  for (const step of path) {
    const next = stepInto(found.node, step)
    if (!next) return { ...found, whole: false }
    found = next
  }
  return found
}

function stepInto(node: Tree, step: string | number): Found | undefined {
  if (node.kind === 'map') {
    const entry = findEntry(node.entries, String(step))
    return entry && { node: entry.value, keySpan: entry.keySpan, whole: true }
  }
  const child = node.kind === 'list' ? node.elements[Number(step)] : undefined
  return child && { node: child, keySpan: undefined, whole: true }
}

/** For fewer entries, a search is faster than an index. */
const indexedMin = 64
const indexes = new WeakMap<readonly Entry[], ReadonlyMap<string, Entry>>()

/** The first entry of a name. Sections may have thousands of entries and as many lookups. */
function findEntry(entries: readonly Entry[], key: string): Entry | undefined {
  if (entries.length < indexedMin) return entries.find(entry => entry.key === key)
  let index = indexes.get(entries)
  if (!index) indexes.set(entries, (index = new Map(entries.toReversed().map(entry => [entry.key, entry]))))
  return index.get(key)
}

/** The plain value of a tree, as a YAML parser returns it. */
export function toValue(tree: Tree): unknown {
  if (tree.kind === 'scalar') return tree.value
  if (tree.kind === 'list') return tree.elements.map(toValue)
  return Object.fromEntries(tree.entries.map(entry => [entry.key, toValue(entry.value)]))
}

/** The tree with `change` applied to every scalar. */
export function mapScalars(tree: Tree, change: (scalar: ScalarTree, path: Path) => ScalarTree, path: Path = []): Tree {
  if (tree.kind === 'scalar') return change(tree, path)
  if (tree.kind === 'list') {
    return { ...tree, elements: tree.elements.map((element, i) => mapScalars(element, change, [...path, i])) }
  }
  const entries = tree.entries.map(entry => ({
    ...entry,
    value: mapScalars(entry.value, change, [...path, entry.key]),
  }))
  return { ...tree, entries }
}

/** The tree of a text, moved to its offset in a longer text. */
export function shiftTree(tree: Tree, by: number): Tree {
  const span = shiftSpan(tree.span, by)
  if (tree.kind === 'scalar') return { ...tree, span }
  if (tree.kind === 'list') return { ...tree, span, elements: tree.elements.map(element => shiftTree(element, by)) }
  const entries = tree.entries.map(({ key, keySpan, value }) => {
    return { key, keySpan: shiftSpan(keySpan, by), value: shiftTree(value, by) }
  })
  return { ...tree, span, entries }
}

export function shiftSpan({ start, end }: Span, by: number): Span {
  return { start: start + by, end: end + by }
}

/** The entry of a mapping. */
export function entryOf(tree: Tree | undefined, key: string): Entry | undefined {
  return tree?.kind === 'map' ? findEntry(tree.entries, key) : undefined
}

/** The mapping with the entry, which replaces the one of its name or is the last. */
export function withEntry(map: MapTree, entry: Entry): MapTree {
  const at = map.entries.findIndex(({ key }) => key === entry.key)
  return { ...map, entries: at === -1 ? [...map.entries, entry] : map.entries.with(at, entry) }
}

export function withoutEntries(map: MapTree, ...keys: readonly string[]): MapTree {
  return { ...map, entries: map.entries.filter(({ key }) => !keys.includes(key)) }
}

/** Every scalar with its path, in the order written. */
export function* scalarsOf(tree: Tree, path: Path = []): Generator<readonly [ScalarTree, Path]> {
  if (tree.kind === 'scalar') yield [tree, path]
  else if (tree.kind === 'list')
    for (const [i, element] of tree.elements.entries()) yield* scalarsOf(element, [...path, i])
  else for (const entry of tree.entries) yield* scalarsOf(entry.value, [...path, entry.key])
}

const plainKey = /^[^\s.[\]"'{}]+$/

/** A path for people: `routes[3].match`, `models["a.b"].prices`. */
export function formatPath(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (!plainKey.test(step)) text += `[${JSON.stringify(step)}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}
