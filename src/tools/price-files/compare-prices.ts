import { costsTheSame, type FoundRow, type TableRow, TableRows } from '../../domain/index.ts'
import { formatMoney, parseMoney } from '../../util/index.ts'
import { factorUnit, type PriceInUse, unitWhere } from './prices-in-use.ts'

/** One price that differs in a newer table; money as decimals, null for none. */
export type PriceDifference = {
  readonly model: string
  /** The priced unit: `input`, `output`, a tier; `free` for a free model. */
  readonly unit: string
  readonly before: string | null
  readonly after: string | null
  /** The change in percent of the old price; null if one of them is missing or 0. */
  readonly percent: number | null
  /** `FILE:LINE` of both. */
  readonly where: { readonly before: string | null; readonly after: string | null }
}

export type ComparedPrices = {
  readonly differences: readonly PriceDifference[]
  /** The number of compared models. */
  readonly compared: number
  /** Why a model was not compared: one sentence each. */
  readonly notes: readonly string[]
}

/** A row of a table with its place. */
type Placed = TableRow & { readonly place: { readonly file: string; readonly line: number } }

/** Prices by unit, and their places. */
type Side = { readonly [unit: string]: { readonly price: string; readonly where: string } }

/** The differences of a newer table, by the names of rows. */
export function comparePriceTables(before: readonly Placed[], after: readonly Placed[]): ComparedPrices {
  const [old, now] = [byId(before), byId(after)]
  const ids = [...new Set([...old.keys(), ...now.keys()])].toSorted()
  const differences = ids.flatMap(id => differencesOf(id, sideOf(old.get(id)), sideOf(now.get(id))))
  return { differences, compared: ids.length, notes: [] }
}

/**
 * The differences between a table and the prices of a configuration's models: compares the row that defines a model's
 * prices, else the rows of its upstreams' names.
 */
export function comparePricesInUse(inUse: readonly PriceInUse[], after: readonly Placed[]): ComparedPrices {
  const rows = new TableRows(after)
  const notes: string[] = []
  let compared = 0
  const differences = [...Map.groupBy(inUse, price => price.model)].flatMap(([model, prices]) => {
    const [{ row, asked } = { row: null, asked: [] }] = prices
    const found = row === null ? findRow(asked, rows) : (rows.get(row) ?? 'none')
    if (found === 'several') {
      notes.push(`${model}: the rows of its upstreams have different prices, so it is left out`)
      return []
    }
    const before = Object.fromEntries(
      prices.map(({ unit, price, file, line }) => [unit, { price, where: `${file}:${line}` }] as const),
    )
    if (found === 'none' && row === null) {
      notes.push(`${model}: it has its own prices, and the table has no row for it`)
      return []
    }
    const now = found === 'none' ? {} : sideOf(found)
    if (row === null && Object.keys(now).every(unit => !Object.hasOwn(before, unit))) {
      notes.push(
        `${model}: its own prices are for ${Object.keys(before).join(', ')}, but the table has prices for ${Object.keys(now).join(', ')}`,
      )
      return []
    }
    compared++
    return differencesOf(model, before, now)
  })
  return { differences, compared, notes }
}

function findRow(names: PriceInUse['asked'], rows: TableRows<Placed>): Placed | 'none' | 'several' {
  const found = names.map(({ id, upstream }) => rows.find(id, { provider: upstream })).filter(isFound)
  const [first, ...more] = found.map(one => one.row)
  if (!first) return 'none'
  return more.every(row => costsTheSame(row, first)) ? first : 'several'
}

function isFound(found: FoundRow<Placed>): found is Extract<FoundRow<Placed>, { readonly kind: 'found' }> {
  return found.kind === 'found'
}

function byId(rows: readonly Placed[]): ReadonlyMap<string, Placed> {
  return new Map(rows.map(row => [row.id, row]))
}

function sideOf(row: Placed | undefined): Side {
  if (!row) return {}
  const where = `${row.place.file}:${row.place.line}`
  if (row.free === true) return { free: { price: formatMoney(0), where } }
  const { prices, overrides = [], times = [] } = row
  const all = [
    ...Object.entries(prices),
    ...overrides.flatMap(one =>
      Object.entries(one.prices).map(([unit, price]) => [unitWhere(unit, one.if), price] as const),
    ),
    ...times.map(one => [unitWhere(factorUnit, one.if), one.by] as const),
  ]
  return Object.fromEntries(
    all.map(([unit, price]) => [unit, { price: formatMoney(parseMoney(price) ?? 0), where }] as const),
  )
}

function differencesOf(model: string, before: Side, after: Side): readonly PriceDifference[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap(unit => {
    const [was, is] = [before[unit], after[unit]]
    const [old, now] = [was && parseMoney(was.price), is && parseMoney(is.price)]
    if (old === now && was !== undefined && is !== undefined) return []
    return [
      {
        model,
        unit,
        before: was?.price ?? null,
        after: is?.price ?? null,
        percent: old === undefined || now === undefined || old === 0 ? null : percentOf(old, now),
        where: { before: was?.where ?? null, after: is?.where ?? null },
      },
    ]
  })
}

/** Rounded to one decimal place. */
function percentOf(before: number, after: number): number {
  return Number((((after - before) / before) * 100).toFixed(1))
}
