import { type TableRow, TableRows, treeOf } from '../../domain/index.ts'
import { type SourceTable, withoutUndercharging } from '../prices/index.ts'
import type { Cost } from './write-config.ts'

/** A table of prices, as it is looked up for what is imported. */
export type PriceTable = {
  /** What people call it. */
  readonly name: string
  readonly rows: TableRows
  /** By model: why a row cannot be charged by. */
  readonly left: ReadonlyMap<string, string>
}

/** @param isAllowed rows that leave out something that costs are taken too */
export function createPriceTable(name: string, table: SourceTable, isAllowed = false): PriceTable {
  const { rows, left } = withoutUndercharging(table, isAllowed)
  return { name, rows: new TableRows(rows), left: new Map(left.map(({ id, why }) => [id, why])) }
}

/** What a request of any kind may be priced by. */
const callLabels = ['request', 'web_search', 'grounding', 'maps', 'code_execution', 'file_search']
const inputLabels = treeOf('input')
const tokenLabels = [...inputLabels, ...treeOf('output'), ...callLabels]
const embeddingLabels = [...inputLabels, ...callLabels]
const timeLabels = ['second', 'minute', 'hour']

/** The labels that models of a family can be charged by. */
const labels: { readonly [family: string]: readonly string[] } = {
  chat: tokenLabels,
  messages: tokenLabels,
  'messages-vertex': tokenLabels,
  generative: tokenLabels,
  embedding: embeddingLabels,
  'generative-embedding': embeddingLabels,
  speech: ['character', ...tokenLabels],
  'text-to-speech': ['character'],
  'speech-to-text': timeLabels,
  transcription: [...timeLabels, ...tokenLabels],
  rerank: ['search_unit', ...inputLabels, 'request'],
  image: ['each'],
}

/** Images by tokens need a family of their own, since the tokens are facts of the response. */
function remedyOf(family: string, label: string): string {
  return family === 'image' && tokenLabels.includes(label)
    ? 'which needs a family for images by tokens (docs/recipes/openai-gpt-image.md)'
    : 'which is not supported'
}

/** The prices of a row for a model of a family. */
export function costOfRow({ prices, free, overrides, times }: TableRow, family: string): Cost {
  if (free === true) return { kind: 'free' }
  const known = labels[family] ?? []
  const other = Object.keys(prices).find(label => !known.includes(label))
  if (other !== undefined) return { kind: 'unknown', why: `it is priced by ${other}, ${remedyOf(family, other)}` }
  return {
    kind: 'prices',
    prices: new Map(Object.entries(prices)),
    ...(overrides && { overrides }),
    ...(times && { times }),
  }
}
