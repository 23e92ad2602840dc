import { type TableRow, TableRows } from '../../kit/index.ts'
import type { SourceTable } from '../prices/index.ts'
import type { Cost } from './write-config.ts'

/** A table of prices, as it is looked up for what is imported. */
export type PriceTable = {
  /** What people call it. */
  readonly name: string
  readonly rows: TableRows
  /** By model: why a row cannot be charged by. */
  readonly left: ReadonlyMap<string, string>
}

export function createPriceTable(name: string, { rows, left }: SourceTable): PriceTable {
  return { name, rows: new TableRows(rows), left: new Map(left.map(({ id, why }) => [id, why])) }
}

/** The labels that models of a family can be charged by. */
const labels: { readonly [family: string]: readonly string[] } = {
  chat: ['input', 'cached_input', 'output', 'request'],
  messages: ['input', 'cached_input', 'output', 'request'],
  generative: ['input', 'cached_input', 'output', 'request'],
  embedding: ['input', 'request'],
  speech: ['character', 'request'],
  transcription: ['second', 'input', 'output', 'request'],
  rerank: ['search_unit', 'input', 'request'],
  image: ['each'],
}

/** What a row says that a model of a family costs. */
export function costOfRow({ prices, free }: TableRow, family: string): Cost {
  if (free === true) return { kind: 'free' }
  const known = labels[family] ?? []
  const other = Object.keys(prices).find(label => !known.includes(label))
  if (other !== undefined)
    return { kind: 'unknown', why: `it is priced by ${other}, and models of its kind are not here` }
  return { kind: 'prices', prices: new Map(Object.entries(prices)) }
}
