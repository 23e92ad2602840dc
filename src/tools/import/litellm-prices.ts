import { isPrice, readLitellmPrices } from '../prices/index.ts'
import { shiftPoint, toDecimal, toPrice } from './decimals.ts'
import type { Fields } from './fields.ts'
import type { Cost } from './write-config.ts'

/** One label, and the fields that may define it. LiteLLM's prices are per token, the gateway's per million tokens. */
type Row = {
  readonly label: string
  readonly fields: readonly string[]
  readonly perMillion: boolean
  readonly needed: boolean
}

const tokens: readonly Row[] = [
  { label: 'input', fields: ['input_cost_per_token'], perMillion: true, needed: true },
  { label: 'cached_input', fields: ['cache_read_input_token_cost'], perMillion: true, needed: false },
  { label: 'output', fields: ['output_cost_per_token'], perMillion: true, needed: true },
]
const one = (label: string, fields: readonly string[], perMillion = false): readonly Row[] => [
  { label, fields, perMillion, needed: true },
]

/** By family, the ways to price its models; the first way with a known cost is used. */
const ways: { readonly [family: string]: readonly (readonly Row[])[] } = {
  chat: [tokens],
  messages: [tokens],
  'messages-vertex': [tokens],
  generative: [tokens],
  embedding: [one('input', ['input_cost_per_token'], true)],
  'generative-embedding': [one('input', ['input_cost_per_token'], true)],
  speech: [one('character', ['input_cost_per_character'], true)],
  'text-to-speech': [one('character', ['input_cost_per_character'], true)],
  'speech-to-text': [one('second', ['input_cost_per_second', 'output_cost_per_second'])],
  transcription: [one('second', ['input_cost_per_second', 'output_cost_per_second']), tokens],
  rerank: [one('search_unit', ['input_cost_per_query'])],
  image: [one('each', ['output_cost_per_image', 'input_cost_per_image'])],
  moderation: [],
}

/** The price fields of this family. */
export function costOf(fields: Fields, family: string): Cost {
  const costs = (ways[family] ?? []).map(rows => costBy(rows, fields, family))
  // A family without prices charges nothing, so it is free.
  return costs.find(cost => cost.kind !== 'unknown') ?? costs[0] ?? { kind: 'free' }
}

function costBy(rows: readonly Row[], given: Fields, family: string): Cost {
  const prices = new Map<string, string>()
  for (const row of rows) {
    const { label, fields, perMillion, needed } = row
    const decimal = decimalOf(given, row)
    if (decimal === undefined && !needed) continue
    if (decimal === undefined) return { kind: 'unknown', why: `it has no ${fields.join(' or ')}` }
    const price = toPrice(perMillion ? shiftPoint(decimal, 6) : decimal)
    if (price === undefined) return { kind: 'unknown', why: `${fields.join(' or ')} has more than six decimal places` }
    prices.set(label, price)
  }
  if ([...prices.values()].some(price => Number(price) > 0)) return { kind: 'prices', prices }
  const left = pricesLeft(given, family)
  return left.length === 0 ? { kind: 'free' } : { kind: 'unknown', why: `it only has prices for ${left.join(', ')}` }
}

/** The price table modes of each family's models. */
const modes: { readonly [family: string]: string } = {
  chat: 'chat',
  messages: 'chat',
  'messages-vertex': 'chat',
  generative: 'chat',
  embedding: 'embedding',
  'generative-embedding': 'embedding',
  speech: 'audio_speech',
  'text-to-speech': 'audio_speech',
  'speech-to-text': 'audio_transcription',
  transcription: 'audio_transcription',
  rerank: 'rerank',
}

/**
 * The same with conditions for tier, size, hours or region, and the unused price fields; undefined if charges cannot
 * use the prices.
 */
export function wholeCostOf(
  given: Fields,
  family: string,
): { readonly cost: Cost; readonly left: readonly string[] } | undefined {
  const mode = modes[family]
  const read = mode === undefined ? undefined : readLitellmPrices(asTexts(given) as Fields, mode)
  if (typeof read !== 'object') return undefined
  const { prices, overrides, times, unmapped: left = [] } = read
  const conditions = { ...(overrides && { overrides }), ...(times && { times }) }
  return { cost: { kind: 'prices', prices: new Map(Object.entries(prices)), ...conditions }, left }
}

/** Numbers as texts, because the fields contain texts elsewhere. */
function asTexts(value: unknown): unknown {
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return value.map(asTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asTexts(inner)]))
}

/** Price fields that the family has no unit for. */
export function pricesLeft(given: Fields, family: string): readonly string[] {
  const decimals = new Map(
    (ways[family] ?? []).flat().flatMap(row => row.fields.map(field => [field, decimalOf(given, row)] as const)),
  )
  return Object.keys(given)
    .filter(name => isPrice.test(name))
    .filter(name => {
      const value = given[name]
      const decimal = toDecimal(value)
      const isNothing = value === undefined || value === null || (decimal !== undefined && Number(decimal) === 0)
      return !isNothing && (!decimals.has(name) || decimals.get(name) !== decimal)
    })
}

/** If several fields define one price, a 0 is ignored if another field is not 0: files contain both. */
function decimalOf(fields: Fields, row: Row): string | undefined {
  const given = row.fields.map(field => fields[field]).filter(value => value !== undefined && value !== null)
  const decimals = given.map(toDecimal)
  return decimals.includes(undefined) ? undefined : (decimals.find(price => Number(price) > 0) ?? decimals[0])
}
