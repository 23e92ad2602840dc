import { shiftPoint, toDecimal, toPrice } from './decimals.ts'
import { type LitellmModel, priceName } from './read-litellm.ts'

/** What a model costs: by label as the configuration writes it, nothing, or why that is not known. */
export type Cost =
  | { readonly kind: 'prices'; readonly prices: ReadonlyMap<string, string> }
  | { readonly kind: 'free' }
  | { readonly kind: 'unknown'; readonly why: string }

/** One label, and the fields that it may come from. LiteLLM gives prices each, we give those of tokens per million. */
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

/** By family: which prices it has. */
const rows: { readonly [family: string]: readonly Row[] } = {
  chat: tokens,
  messages: tokens,
  generative: tokens,
  embedding: one('input', ['input_cost_per_token'], true),
  speech: one('character', ['input_cost_per_character'], true),
  transcription: one('second', ['input_cost_per_second', 'output_cost_per_second']),
  rerank: one('search_unit', ['input_cost_per_query']),
  image: one('each', ['output_cost_per_image', 'input_cost_per_image']),
}

/** What the file says that a model of this family costs. LiteLLM's own table of prices is not asked: it changes by itself. */
export function costOf(model: LitellmModel, family: string): Cost {
  const prices = new Map<string, string>()
  for (const row of rows[family] ?? []) {
    const { label, fields, perMillion, needed } = row
    const decimal = decimalOf(model, row)
    if (decimal === undefined && !needed) continue
    if (decimal === undefined) return { kind: 'unknown', why: `the file does not say ${fields.join(' or ')}` }
    const price = toPrice(perMillion ? shiftPoint(decimal, 6) : decimal)
    if (price === undefined) return { kind: 'unknown', why: `${fields.join(' or ')} has more than six decimal places` }
    prices.set(label, price)
  }
  if ([...prices.values()].every(price => Number(price) === 0)) {
    const left = pricesLeft(model, family)
    return left.length === 0 ? { kind: 'free' } : { kind: 'unknown', why: `it costs nothing but ${left.join(', ')}` }
  }
  return { kind: 'prices', prices }
}

/** Fields of the file that cost something, and that no price of the family says. */
export function pricesLeft(model: LitellmModel, family: string): readonly string[] {
  const said = new Map(
    (rows[family] ?? []).flatMap(row => row.fields.map(field => [field, decimalOf(model, row)] as const)),
  )
  const names = new Set(
    [...Object.keys(model.params), ...Object.keys(model.facts)].filter(name => priceName.test(name)),
  )
  return [...names].filter(name => {
    const given = valueOf(model, name)
    const decimal = toDecimal(given)
    const isNothing = given === undefined || given === null || (decimal !== undefined && Number(decimal) === 0)
    return !isNothing && (!said.has(name) || said.get(name) !== decimal)
  })
}

/** Of several fields for one price those that are 0 say nothing beside one that is not: files have both. */
function decimalOf(model: LitellmModel, { fields }: Row): string | undefined {
  const given = fields.map(field => valueOf(model, field)).filter(value => value !== undefined && value !== null)
  const decimals = given.map(toDecimal)
  return decimals.includes(undefined) ? undefined : (decimals.find(one => Number(one) > 0) ?? decimals[0])
}

function valueOf({ params, facts }: LitellmModel, field: string): unknown {
  return params[field] ?? facts[field]
}
