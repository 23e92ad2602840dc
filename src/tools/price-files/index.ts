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

/** Which prices are held against one another. */
export type PriceQuestion = {
  /** A file of prices; absent for what the configuration uses. */
  readonly before?: string | undefined
  readonly after: string
  readonly config: string
  /** Names of models or rows, `*` for any part of one; all when there are none. */
  readonly only?: readonly string[]
  /** Of a configuration, only models whose prices are in a table. */
  readonly fromTables?: boolean
}

/** What every model of a configuration costs, and the place of the price. */
export async function listPricesInUse(file: string, env: Environment): Promise<ListedPrices> {
  const loaded = await loadPlan({ file, env, ...pluginFinder(file), known: knownNames })
  if (!loaded.ok) return loaded
  const { plan, priceRows: rows } = loaded
  const prices = pricesInUse(plan, { list: priceList(plan), rows, values: loaded.trace() })
  return { ok: true, currency: plan.currency, prices }
}

/**
 * What is different in a newer table: of an older one, or of what a configuration uses.
 * @throws Error when a table cannot be read, or is of another currency
 */
export async function comparePrices(asked: PriceQuestion, env: Environment): Promise<PriceComparison> {
  const { before, after, config, only = [], fromTables = false } = asked
  const isAsked = namedBy(only)
  const now = readPriceTable(after, await readFile(after, 'utf8'))
  if (!now.ok) return now
  if (before === undefined) {
    const listed = await listPricesInUse(config, env)
    if (!listed.ok) return listed
    needSame(listed.currency, now.currency)
    const inUse = listed.prices.filter(one => isAsked(one.model) && (!fromTables || one.row !== null))
    return { ok: true, currency: now.currency, ...comparePricesInUse(inUse, now.rows) }
  }
  const old = readPriceTable(before, await readFile(before, 'utf8'))
  if (!old.ok) return old
  needSame(old.currency, now.currency)
  const named = (rows: readonly ReadRow[]): readonly ReadRow[] => rows.filter(row => isAsked(row.id))
  return { ok: true, currency: now.currency, ...comparePriceTables(named(old.rows), named(now.rows)) }
}

function needSame(before: string, after: string): void {
  if (before !== after) throw new Error(`prices in ${before} cannot be compared with prices in ${after}`)
}
