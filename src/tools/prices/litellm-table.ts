import type { TableRow } from '../../kit/index.ts'
import { isZero, readDecimal, shiftPoint, toPrice, withoutNoise } from './decimals.ts'
import { repeatedNames } from './repeated-names.ts'
import { type Fields, fieldsOf, parseExact, saidTwice, type SourceTable, textOf } from './source-table.ts'

/** What a mode is priced by: a label of ours, and the fields that say it. LiteLLM gives prices each, we those of tokens per million. */
type Rate = {
  readonly label: string
  readonly fields: readonly string[]
  readonly perMillion: boolean
  /** Without it the model would give something away. */
  readonly needed: boolean
}

const rate = (label: string, fields: readonly string[], perMillion = true, needed = true): Rate => ({
  label,
  fields,
  perMillion,
  needed,
})
const input = rate('input', ['input_cost_per_token'])
const tokens = [
  input,
  rate('cached_input', ['cache_read_input_token_cost'], true, false),
  rate('output', ['output_cost_per_token']),
]
const images = ['1K', '2K', '4K'].map(tier => rate(tier, [`output_cost_per_image_${tier}`], false, false))

/** Each mode by the ways in which it may be priced; the first that the row has counts. */
const ways: { readonly [mode: string]: readonly (readonly Rate[])[] } = {
  chat: [tokens],
  completion: [tokens],
  responses: [tokens],
  embedding: [[input]],
  audio_transcription: [
    [rate('second', ['input_cost_per_second', 'output_cost_per_second'], false)],
    [input, rate('output', ['output_cost_per_token'])],
  ],
  audio_speech: [[rate('character', ['input_cost_per_character'])]],
  rerank: [[rate('search_unit', ['input_cost_per_query'], false)], [input]],
  image_generation: [images, [rate('each', ['output_cost_per_image'], false)]],
  image_edit: [images, [rate('each', ['output_cost_per_image'], false)]],
}

const isPrice = /(?:^|_)(?:cost|price|pricing)(?:_|$)/
/** Of what can be asked for only where the request says so, and then costs less. */
const isCheaper = /_(?:batches|flex)$/
/** Prices of answers: where no price of ours says them, the answer would be given away in part. */
const ofAnswers = /^output_cost_per_(?:reasoning_token|audio_token|image|pixel|second|video)/
/** Modes whose answers are text, counted in tokens. */
const answering = new Set(['chat', 'completion', 'responses'])
/** Modes whose answers have no tokens. */
const answerless = new Set(['embedding', 'rerank'])
const localProviders = new Set(['ollama', 'ollama_chat', 'lm_studio', 'llamafile', 'hosted_vllm', 'vllm', 'local'])
/** `low/1024-x-1024/model`: one row for each size. */
const sized = /(?:^|\/)\d+-x-\d+\//

/** Reads a `model_prices_and_context_window.json` of LiteLLM. Undefined when the text is none. */
export function readLitellmTable(text: string): SourceTable | undefined {
  const parsed = parseExact(text)
  if (!parsed || typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value))
    return undefined
  const entries = Object.entries(parsed.value).filter(([id]) => id !== 'sample_spec')
  if (!entries.some(([, value]) => Object.keys(fieldsOf(value)).some(name => isPrice.test(name)))) return undefined
  const bySize = new Set(entries.flatMap(([id]) => (sized.test(id) ? [id.slice(id.lastIndexOf('/') + 1)] : [])))
  const rows: TableRow[] = []
  const left: { id: string; why: string }[] = []
  const twice = new Set(repeatedNames(text).map(([id]) => id))
  for (const [id, value] of entries) {
    const read = twice.has(id) ? saidTwice : readRow(id, fieldsOf(value), bySize)
    if (typeof read === 'string') left.push({ id, why: read })
    else rows.push(read)
  }
  return { rows, left }
}

/** The row, or why it cannot be charged by. */
function readRow(id: string, own: Fields, bySize: ReadonlySet<string>): TableRow | string {
  const mode = textOf(own['mode']) ?? 'chat'
  const provider = textOf(own['litellm_provider'])
  const { deprecation_date: end } = own
  const ends = typeof end === 'string' && /^\d{4}-\d\d-\d\d$/.test(end) ? end : undefined
  const about = { id, mode, ...(provider !== undefined && { provider }), ...(ends !== undefined && { ends }) }
  const known = ways[mode]
  if (!known) return `nothing here counts what the mode '${mode}' is priced by`
  const unread = Object.keys(own).find(name => isPrice.test(name) && !isAmount(own[name]))
  if (unread !== undefined) return `${unread} is no amount`
  const costing = Object.keys(own).filter(name => isPrice.test(name) && costs(own[name]))
  if (costing.length === 0) {
    const free = id.endsWith(':free') || (provider !== undefined && localProviders.has(provider))
    return free ? { ...about, prices: {}, free: true } : 'it says no price, or 0, which may mean that nobody knew'
  }
  if (mode.startsWith('image')) {
    const why = imageFault(id, costing, bySize)
    if (why !== undefined) return why
  }
  const way = known.find(rates => rates.some(one => one.fields.some(name => costing.includes(name))))
  if (!way)
    return `it has no ${known.map(rates => rates.flatMap(one => one.fields[0] ?? []).join(' and ')).join(', or ')}`
  const prices: { [label: string]: string } = {}
  const said = new Set<string>()
  for (const { label, fields, perMillion, needed } of way) {
    const field = fields.find(name => costing.includes(name))
    if (field === undefined) {
      if (needed) return `it has no ${fields.join(' or ')}`
      continue
    }
    const price = priceOf(textOf(own[field]) ?? '', perMillion ? 6 : 0)
    if (price === undefined) return `${field} is no amount with at most six decimal places`
    prices[label] = price
    said.add(field)
  }
  const unmapped = costing.filter(name => !said.has(name) && !isCheaper.test(name) && !saysTheSame(name, own))
  const given = answering.has(mode) ? unmapped.find(name => ofAnswers.test(name)) : undefined
  if (given !== undefined) return `${given} is a price of answers, and nothing here counts by it`
  if (mode.startsWith('audio') && prices['input'] !== undefined && unmapped.includes('input_cost_per_audio_token'))
    return 'input_cost_per_audio_token: sound costs more than text, and nothing here counts it apart'
  const counted = unmapped.filter(name => !(answerless.has(mode) && name === 'output_cost_per_token'))
  return { ...about, prices, ...(counted.length > 0 && { unmapped: counted }) }
}

/** Whether a field says that something costs: a number above 0, or several in a mapping or a list. */
function costs(value: unknown): boolean {
  if (typeof value === 'string') {
    const decimal = readDecimal(value)
    return decimal !== undefined && !isZero(decimal)
  }
  return typeof value === 'object' && value !== null && Object.values(value).some(one => costs(one))
}

/** What is below nothing, or no number though it was to be one, is no price of 0. */
function isAmount(value: unknown): boolean {
  return typeof value !== 'string' || !/^\s*[-+]?(?:[.\d]|nan|inf)/i.test(value) || readDecimal(value) !== undefined
}

export function priceOf(text: string, places: number): string | undefined {
  const decimal = readDecimal(text)
  return decimal === undefined ? undefined : toPrice(withoutNoise(shiftPoint(decimal, places)))
}

/** Reasoning is answered at the price of answers. */
function saysTheSame(name: string, own: Fields): boolean {
  return (
    name === 'output_cost_per_reasoning_token' &&
    priceOf(String(own[name]), 6) === priceOf(String(own['output_cost_per_token']), 6)
  )
}

/** One price of an image that has several sizes hides what the large ones cost. */
function imageFault(id: string, costing: readonly string[], bySize: ReadonlySet<string>): string | undefined {
  const counted = costing.find(name => /_(?:per_image_token|per_pixel)$/.test(name))
  if (counted !== undefined) return `${counted}: its images cost by what they are made of, which one price does not say`
  if (sized.test(id)) return 'it is one size of a model: price the model by its tiers'
  if (bySize.has(id.slice(id.lastIndexOf('/') + 1))) return 'its price depends on the size, which other rows say'
  if (costing.includes('input_cost_per_image') && !costing.includes('output_cost_per_image'))
    return 'input_cost_per_image may be a price of what is sent, or of what is made'
  return undefined
}
