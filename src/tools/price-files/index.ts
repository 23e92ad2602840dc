import { readFile } from 'node:fs/promises'
import { type Environment, type Finding, loadPlan, type ReadRow, readPriceTable } from '../../config/index.ts'
import { knownNames } from '../../gateway/known-names.ts'
import { pluginFinder } from '../../gateway/plugin-finder.ts'
import { priceList } from '../../gateway/pricing.ts'
import { type ComparedPrices, comparePricesInUse, comparePriceTables } from './compare-prices.ts'
import { namedBy } from './named-by.ts'
import { type PriceInUse, pricesInUse } from './prices-in-use.ts'

export type { ComparedPrices, PriceDifference } from './compare-prices.ts'
export { type ImportedPrices, importPrices, type PriceImport } from './import-prices.ts'
export type { PriceInUse } from './prices-in-use.ts'
export { type Ownership, ownershipOf } from './write-table.ts'

type Refused = { readonly ok: false; readonly findings: readonly Finding[] }

export type ListedPrices =
  | { readonly ok: true; readonly currency: string; readonly prices: readonly PriceInUse[] }
  | Refused

export type PriceComparison = ({ readonly ok: true; readonly currency: string } & ComparedPrices) | Refused

/** The prices to compare. */
export type PriceQuestion = {
  /** A file of prices; absent to use those of the configuration. */
  readonly before?: string | undefined
  readonly after: string
  readonly config: string
  /** Names of models or rows, `*` for any part of one; all if there are none. */
  readonly only?: readonly string[]
  /** Without `before`: compares only models whose prices come from a table. */
  readonly fromTables?: boolean
}

/** The prices of every model of a configuration, with their places. */
export async function listPricesInUse(file: string, env: Environment): Promise<ListedPrices> {
  const loaded = await loadPlan({ file, env, ...pluginFinder(file), known: knownNames })
  if (!loaded.ok) return loaded
  const { plan, priceRows: rows } = loaded
  const prices = pricesInUse(plan, { list: await priceList(plan), rows, values: loaded.trace() })
  return { ok: true, currency: plan.currency, prices }
}

/**
 * The differences of a newer table from an older one, or from the prices of a configuration.
 * @throws Error if a table cannot be read, or has another currency
 */
export async function comparePrices(query: PriceQuestion, env: Environment): Promise<PriceComparison> {
  const { before, after, config, only = [], fromTables = false } = query
  const isSelected = namedBy(only)
  const now = readPriceTable(after, await readFile(after, 'utf8'))
  if (!now.ok) return now
  if (before === undefined) {
    const listed = await listPricesInUse(config, env)
    if (!listed.ok) return listed
    needSame(listed.currency, now.currency)
    const inUse = listed.prices.filter(one => isSelected(one.model) && (!fromTables || one.row !== null))
    return { ok: true, currency: now.currency, ...comparePricesInUse(inUse, now.rows) }
  }
  const old = readPriceTable(before, await readFile(before, 'utf8'))
  if (!old.ok) return old
  needSame(old.currency, now.currency)
  const named = (rows: readonly ReadRow[]): readonly ReadRow[] => rows.filter(row => isSelected(row.id))
  return { ok: true, currency: now.currency, ...comparePriceTables(named(old.rows), named(now.rows)) }
}

function needSame(before: string, after: string): void {
  if (before !== after) throw new Error(`prices in ${before} cannot be compared with prices in ${after}`)
}
