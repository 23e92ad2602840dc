import { costsTheSame, type FoundRow, TableRows } from '../../domain/index.ts'
import { readYaml } from '../load.ts'
import { Report } from '../report.ts'
import type { Source } from '../source.ts'
import {
  type Entry,
  entryOf,
  type MapTree,
  shiftSpan,
  shiftTree,
  toValue,
  type Tree,
  withEntry,
  withoutEntries,
} from '../tree.ts'
import { withUnknownPrice } from './expand.ts'
import { nameModels } from './name-models.ts'
import { findNamed, nameFile, unreadable } from './include.ts'
import type { PartFiles } from './part-files.ts'
import { checkTable, type PlacedRow, type ReadRow, rowsOf } from './read-table.ts'

/**
 * The configuration with its prices; by model, the row of its prices; and by model with a name from a row, its
 * wildcard.
 */
type Priced = {
  readonly root: Tree
  readonly taken: ReadonlyMap<string, ReadRow>
  readonly derived: ReadonlyMap<string, string>
}

type Work = { readonly source: Source; readonly parts: PartFiles; readonly report: Report }

/**
 * Gives every model without a price the one in its table. Tables that are used are read, and validated by their schema.
 */
export async function priceModels(root: Tree, work: Work): Promise<Priced> {
  const list = entryOf(root, 'price_tables')?.value
  const models = entryOf(root, 'models')
  const taken = new Map<string, ReadRow>()
  const derived = new Map<string, string>()
  if (root.kind !== 'map' || models?.value.kind !== 'map') return { root, taken, derived }
  const read = list?.kind === 'list' ? await readTables(list.elements, root, work) : { rows: [], whole: true }
  const rows = new TableRows(read.rows)
  const named = nameModels(models.value.entries, read.rows)
  for (const { entry, wildcard } of named) derived.set(entry.key, wildcard)
  const entries = [...models.value.entries, ...named.map(({ entry }) => entry)].map(model => {
    if (model.value.kind !== 'map') return model
    if (!read.whole) return { ...model, value: withoutJudgement(model.value) }
    const { model: value, row } = priceModel(model.key, model.value, rows, work.report)
    if (row) taken.set(model.key, row)
    return { ...model, value }
  })
  return { root: withEntry(root, { ...models, value: { ...models.value, entries } }), taken, derived }
}

/** A price from an unreadable table does not count as missing. */
function withoutJudgement(model: MapTree): MapTree {
  const own = entryOf(model, 'prices')
  const hasOwnPrice = own ? !entryOf(own.value, 'from') : entryOf(model, 'price') !== undefined
  return hasOwnPrice ? model : withUnknownPrice(model)
}

type Read = { readonly rows: readonly PlacedRow[]; readonly whole: boolean }

async function readTables(elements: readonly Tree[], root: Tree, work: Work): Promise<Read> {
  const { source, parts, report } = work
  const rows: PlacedRow[] = []
  let whole = true
  const seen = new Set<string>()
  for (const [i, element] of elements.entries()) {
    const named = await findNamed(element, 'price_tables', work)
    whole &&= named !== undefined
    for (const path of named?.paths ?? []) {
      if (seen.has(path)) continue
      seen.add(path)
      const read = await parts.read(path)
      const file = nameFile(path, source)
      const at = ['price_tables', i]
      if ('reason' in read) report.add({ ...unreadable(file, read.reason), path: at, span: element.span })
      const found = 'text' in read ? await readTable({ file, text: read.text, at }, root, work) : undefined
      rows.push(...(found ?? []))
      whole &&= found !== undefined
    }
  }
  return { rows, whole }
}

/** The source of an invalid table is undefined. */
async function readTable(
  { file, text, at }: { readonly file: string; readonly text: string; readonly at: readonly (string | number)[] },
  root: Tree,
  { source, report }: Work,
): Promise<readonly PlacedRow[] | undefined> {
  const start = source.add(file, text)
  const { root: own, diagnostics } = readYaml(text)
  for (const one of diagnostics) report.add({ ...one, path: [...at, ...one.path], span: shiftSpan(one.span, start) })
  if (!own || diagnostics.length > 0) return undefined
  const table = shiftTree(own, start)
  const findings = new Report(source)
  findings.follow(table)
  checkTable(table, source, findings)
  const currency = toValue(entryOf(root, 'currency')?.value ?? table)
  const given = entryOf(table, 'currency')
  const wanted = typeof currency === 'string' ? currency : 'USD'
  if (given?.value.kind === 'scalar' && !findings.failed && given.value.value !== wanted) {
    const message = `these prices are in ${String(given.value.value)}, but the configuration uses ${wanted}`
    findings.atValue(['currency'], { code: 'price_table_currency', message, remedy: 'use a table in that currency' })
  }
  report.addBelow(at, findings)
  return findings.failed ? undefined : rowsOf(table, source)
}

type PricedModel = { readonly model: MapTree; readonly row?: ReadRow }

function priceModel(name: string, model: MapTree, rows: TableRows<PlacedRow>, report: Report): PricedModel {
  const own = entryOf(model, 'prices')
  const from = own && entryOf(own.value, 'from')
  if (from) return priceFrom(name, model, from, rows, report)
  if (own || entryOf(model, 'price')) return { model }
  const found = candidatesOf(name, model)
    .map(({ id, provider }) => rows.find(id, { provider }))
    .filter(isFound)
  const [first, ...more] = found.map(one => one.row)
  if (!first) return { model }
  const other = more.find(row => !costsTheSame(row, first))
  if (!other) return takeRow(name, model, first, report)
  const message = `the model '${name}' has a row for each of its upstreams, with different prices: ${rowLabel(first)}, ${rowLabel(other)}`
  report.add({
    code: 'price_row_several',
    path: ['models', name],
    span: { start: model.span.start, end: model.span.start + 1 },
    message,
    remedy: `choose one, as in prices: { from: ${JSON.stringify(first.id)} }, or write the prices here`,
  })
  return { model: withUnknownPrice(model) }
}

/** The model with the price from the row of `prices: { from: ID }`. */
function priceFrom(name: string, model: MapTree, from: Entry, rows: TableRows<PlacedRow>, report: Report): PricedModel {
  const without = { model: withUnknownPrice(model) }
  const about = { path: ['models', name, 'prices', 'from'], span: from.value.span }
  const id = from.value.kind === 'scalar' && typeof from.value.value === 'string' ? from.value.value : undefined
  const prices = entryOf(model, 'prices')?.value
  if (prices?.kind === 'map' && prices.entries.length > 1) {
    const message = "'from' cannot be combined with prices"
    report.add({ ...about, code: 'price_from_beside', message, remedy: 'keep either from or the prices' })
    return without
  }
  const row = id === undefined ? undefined : rows.get(id)
  if (row) return takeRow(name, withoutEntries(model, 'prices'), row, report)
  const near = id === undefined ? undefined : report.suggest(id, rows.ids)
  const message =
    id === undefined ? 'found a value that is not a row name' : `no table of price_tables has a row '${id}'`
  const remedy = near ?? 'use the name of a row in the table'
  report.add({ ...about, code: 'price_row_unknown', message, remedy })
  return without
}

/**
 * The model with the settings of its row; the model's own settings win. Costs that the row does not charge are
 * reported.
 */
function takeRow(name: string, model: MapTree, row: PlacedRow, report: Report): PricedModel {
  const { id, unmapped, cost, rest } = row
  if (unmapped) {
    const message = `the model '${name}' uses the prices of row ${id}, which lacks other vendor charges: ${unmapped.join('; ')}`
    const remedy = 'set the prices at the model, or refuse such requests in its family'
    const about = { path: ['models', name], span: cost.keySpan, severity: 'warning' } as const
    report.add({ ...about, code: 'price_row_undercharges', message, remedy })
  }
  const laid = rest.filter(({ key }) => !entryOf(model, key))
  return { model: [cost, ...laid].reduce(withEntry, model), row }
}

type Candidate = { readonly id: string; readonly provider: string }

/** The upstreams' names for the model. Defaults are not filled in yet. */
function candidatesOf(name: string, model: MapTree): readonly Candidate[] {
  const text = (tree: Tree, key: string): string | undefined => {
    const value = entryOf(tree, key)?.value
    return value?.kind === 'scalar' && typeof value.value === 'string' && !value.value.includes('$')
      ? value.value
      : undefined
  }
  const several = entryOf(model, 'upstreams')?.value
  const places = several?.kind === 'list' ? several.elements : [model]
  return places.flatMap(place => {
    const provider = text(place, 'upstream')
    return provider === undefined ? [] : [{ id: text(place, 'send_as') ?? text(model, 'send_as') ?? name, provider }]
  })
}

function isFound(found: FoundRow<PlacedRow>): found is Extract<FoundRow<PlacedRow>, { readonly kind: 'found' }> {
  return found.kind === 'found'
}

function rowLabel({ id, place: { file, line } }: PlacedRow): string {
  return `${id} at ${file}:${line}`
}
