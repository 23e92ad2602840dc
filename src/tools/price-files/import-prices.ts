import { createHash } from 'node:crypto'
import type { TableRow } from '../../domain/index.ts'
import { isName } from '../import/yaml-words.ts'
import { parseExact, type PriceSource, readSourceTable, tableExamples, withoutUndercharging } from '../prices/index.ts'
import { namedBy } from './named-by.ts'
import { writeTable } from './write-table.ts'

/** Options of the import of prices in addition to the table. */
export type PriceImport = {
  readonly from: PriceSource
  /** The origin of the table, as the file is to record it. */
  readonly source: string
  /** The day of its download: `2026-11-23`. */
  readonly asOf: string
  /** Names of rows, `*` for any part of one; all if there are none. */
  readonly only?: readonly string[]
  /** Providers by their names in the table, or the part before a name's first slash; all if there are none. */
  readonly providers?: readonly string[]
  /** Whether to import rows that leave out a cost, each with a list of it. */
  readonly allowUndercharge?: boolean
}

/** A file of prices, and the rows of the source table that it leaves out. */
export type ImportedPrices = {
  /** A file that `price_tables` may name. */
  readonly text: string
  readonly rows: readonly TableRow[]
  /** Requested rows that charges cannot use, each with the reason, by name. */
  readonly left: readonly { readonly id: string; readonly why: string }[]
  /** How many rows were not requested. */
  readonly unasked: number
}

/** Converts a foreign table to a file of prices. @throws Error for an invalid text */
export function importPrices(text: string, options: PriceImport): ImportedPrices {
  const { from, source, asOf, only = [], providers = [] } = options
  const read = readSourceTable(from, text)
  if (!read)
    throw new Error(
      parseExact(text)
        ? `this is not a price list of ${from}: expected ${tableExamples[from]}`
        : 'this is not valid JSON, or is truncated',
    )
  const table = withoutUndercharging(read, options.allowUndercharge)
  const isSelected = selectedBy(only, providers)
  const fit = table.rows.filter(row => isName(row.id))
  const misnamed = table.rows
    .filter(row => !isName(row.id))
    .map(({ id }) => ({ id, why: 'its name is not valid in a file' }))
  const rows = fit.filter(row => isSelected(row.id, row.provider)).toSorted(byId)
  const left = [...table.left, ...misnamed].filter(({ id }) => isSelected(id, undefined)).toSorted(byId)
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
  return {
    text: writeTable({ source, asOf, digest, currency: 'USD', rows }),
    rows,
    left,
    unasked: table.rows.length + table.left.length - rows.length - left.length,
  }
}

function selectedBy(only: readonly string[], providers: readonly string[]) {
  const isNamed = namedBy(only)
  return (id: string, provider: string | undefined): boolean =>
    isNamed(id) && (providers.length === 0 || providers.some(one => one === provider || id.startsWith(`${one}/`)))
}

/** Compares code units, so that the order is the same everywhere. */
function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : Number(a.id > b.id)
}
