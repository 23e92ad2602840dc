import { type TableRow, TableRows, treeOf } from '../../domain/index.ts'
import { type SourceTable, withoutUndercharging } from '../prices/index.ts'
import type { Cost } from './write-config.ts'

/** A price table, as the import queries it. */
export type PriceTable = {
  /** Its name for messages. */
  readonly name: string
  readonly rows: TableRows
  /** By model: why its row cannot be used for charges. */
  readonly left: ReadonlyMap<string, string>
}

/** @param isAllowed also accepts rows that leave out a cost */
export function createPriceTable(name: string, table: SourceTable, isAllowed = false): PriceTable {
  const { rows, left } = withoutUndercharging(table, isAllowed)
  return { name, rows: new TableRows(rows), left: new Map(left.map(({ id, why }) => [id, why])) }
}

/** Labels that requests of any kind may be priced by. */
const callLabels = ['request', 'web_search', 'grounding', 'maps', 'code_execution', 'file_search']
const inputLabels = treeOf('input')
const tokenLabels = [...inputLabels, ...treeOf('output'), ...callLabels]
const embeddingLabels = [...inputLabels, ...callLabels]
const timeLabels = ['second', 'minute', 'hour']

/** The labels that charges of a family's models can have. */
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

/** Images by tokens need a family of their own, because the tokens are facts of the response. */
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
