import type { Report } from '../report.ts'
import type { Source } from '../source.ts'
import { type Entry, type ListTree, type MapTree, type Path, type Span, toValue, withEntry } from '../tree.ts'

type Around = {
  readonly source: Source
  readonly report: Report
  /** The places of values that are not used, which may be secret. */
  readonly hidden: Span[]
}

/** Lists whose elements may be in several files. A pipeline must be in one file, so that its order is visible. */
const lists = new Set(['routes', 'price_tables'])

/**
 * Merges the mappings of several files: the names of a section, and lists one after another. A name that is set twice
 * is reported.
 */
export function mergeSourceFiles(main: MapTree, others: readonly MapTree[], around: Around): MapTree {
  let whole = main
  for (const other of others)
    for (const entry of other.entries) {
      if (entry.key === 'include') continue
      const there = whole.entries.find(({ key }) => key === entry.key)
      whole = withEntry(whole, there ? mergeEntries(there, entry, around) : entry)
    }
  return { ...whole, unknown: whole.unknown || others.some(other => other.unknown) }
}

function mergeEntries(there: Entry, entry: Entry, around: Around): Entry {
  const [one, other] = [there.value, entry.value]
  if (one.kind === 'scalar' && one.value === null) return entry
  if (other.kind === 'scalar' && other.value === null) return there
  if (one.kind === 'map' && other.kind === 'map') return { ...there, value: mergeMaps(one, other, [entry.key], around) }
  if (one.kind === 'list' && other.kind === 'list' && lists.has(entry.key)) {
    const value: ListTree = { ...one, elements: [...one.elements, ...other.elements] }
    return { ...there, value }
  }
  if (entry.key !== 'version' || toValue(one) !== toValue(other)) reportTwice([], there, entry, around)
  return there
}

/** Names of both; if both have a name, the value of `one` is used. */
export function mergeMaps(one: MapTree, other: MapTree, path: Path, around: Around): MapTree {
  const known = new Map(one.entries.map(entry => [entry.key, entry]))
  const more = other.entries.filter(entry => {
    const there = known.get(entry.key)
    if (there) reportTwice(path, there, entry, around)
    return !there
  })
  return { ...one, entries: [...one.entries, ...more], unknown: one.unknown || other.unknown }
}

function reportTwice(path: Path, there: Entry, entry: Entry, { source, report, hidden }: Around): void {
  hidden.push(entry.value.span)
  const { file, line } = source.locate(there.keySpan.start)
  const message = `'${entry.key}' is set here, and at ${file}:${line}`
  report.add({
    code: 'name_twice',
    path: [...path, entry.key],
    span: entry.keySpan,
    message,
    remedy: 'keep one of the two',
  })
}
