import {
  parseEnd,
  type PriceConditions,
  type RowOverride,
  type TableRow,
  type UnitName,
  units,
} from '../../domain/index.ts'
import { isZero, multiply, readDecimal, shiftPoint, toPrice, withoutNoise } from './decimals.ts'
import { isPrice, isRestated, isUnreachable, readTokenField } from './litellm-fields.ts'
import { readWindows } from './off-peak.ts'
import { PriceGrid } from './price-grid.ts'
import { repeatedNames } from '../../util/index.ts'
import { type Fields, fieldsOf, parseExact, listedTwice, type SourceTable, textOf } from './source-table.ts'

/** A way to price a mode: by tokens, or by another counted unit. */
type Way = { readonly tokens: readonly UnitName[] } | { readonly label: string; readonly fields: readonly string[] }

const talk: Way = { tokens: ['input', 'output'] }
const sent: Way = { tokens: ['input'] }
const tiers: readonly Way[] = ['1K', '2K', '4K'].map(label => ({ label, fields: [`output_cost_per_image_${label}`] }))
const each: Way = { label: 'each', fields: ['output_cost_per_image'] }
const seconds: Way = { label: 'second', fields: ['input_cost_per_second', 'output_cost_per_second'] }

/** The ways to price each mode; the first for which the row has prices counts. */
const ways: ReadonlyMap<string, readonly (readonly Way[])[]> = new Map(
  Object.entries({
    chat: [[talk]],
    completion: [[talk]],
    responses: [[talk]],
    embedding: [[sent]],
    audio_transcription: [[talk], [seconds]],
    audio_speech: [[{ label: 'character', fields: ['input_cost_per_character'] }], [talk]],
    rerank: [[{ label: 'search_unit', fields: ['input_cost_per_query'] }], [sent]],
    image_generation: [[talk], tiers, [each]],
    image_edit: [[talk], tiers, [each]],
  }),
)

/** Modes whose answers have no tokens. */
const answerless = new Set(['embedding', 'rerank'])
const localProviders = new Set(['ollama', 'ollama_chat', 'lm_studio', 'llamafile', 'hosted_vllm', 'vllm', 'local'])
/** `low/1024-x-1024/model`: one row for each size. */
const sized = /(?:^|\/)\d+-x-\d+\//
/** A model with one price of its answers has that price for all of these kinds. */
const kindsOfOutput: readonly UnitName[] = ['output_image', 'output_audio']
const sixPlaces = 'is not an amount with at most six decimal places'

/** Reads a `model_prices_and_context_window.json` of LiteLLM. Undefined if the text is not one. */
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
    const read = twice.has(id) ? listedTwice : readRow(id, fieldsOf(value), bySize)
    if (typeof read === 'string') left.push({ id, why: read })
    else rows.push(read)
  }
  return { rows, left }
}

/** The row, or why charges cannot use it. */
function readRow(id: string, own: Fields, bySize: ReadonlySet<string>): TableRow | string {
  const mode = textOf(own['mode']) ?? 'chat'
  const provider = textOf(own['litellm_provider'])
  const { deprecation_date: end } = own
  const ends = typeof end === 'string' && parseEnd(end) ? end : undefined
  const about = { id, mode, ...(provider !== undefined && { provider }), ...(ends !== undefined && { ends }) }
  const known = ways.get(mode)
  if (!known) return `the mode '${mode}' is priced by a unit that is not supported`
  const unread = Object.keys(own).find(name => isPrice.test(name) && !isAmount(own[name]))
  if (unread !== undefined) return `${unread} is not an amount`
  const costing = Object.keys(own).filter(name => isPrice.test(name) && costs(own[name]))
  if (costing.length === 0) {
    const free = id.endsWith(':free') || (provider !== undefined && localProviders.has(provider))
    return free ? { ...about, prices: {}, free: true } : 'its price is missing or 0, which may mean unknown'
  }
  const cost = new RowReading(own, costing, provider).price(known, mode)
  const isByTokens = typeof cost === 'object' && cost.prices['input'] !== undefined
  const why = mode.startsWith('image') && !isByTokens ? imageFault(id, costing, bySize) : undefined
  if (why !== undefined) return why
  if (typeof cost === 'string') return cost
  if (!cost) return `it has no ${known.map(way => way.flatMap(fieldsOfWay).join(' and ')).join(', or ')}`
  return { ...about, ...cost }
}

function fieldsOfWay(way: Way): readonly string[] {
  if ('label' in way) return way.fields.slice(0, 1)
  return way.tokens.map(unit => `${unit}_cost_per_token`)
}

/**
 * The cost of a model with a mode, by fields of LiteLLM, with numbers as texts; a text gives the reason why charges
 * cannot use it, undefined means that there is no price for such a model.
 */
export function readLitellmPrices(own: Fields, mode: string): Cost | string | undefined {
  const costing = Object.keys(own).filter(name => isPrice.test(name) && costs(own[name]))
  return new RowReading(own, costing, undefined).price(ways.get(mode) ?? [], mode)
}

type Cost = Pick<TableRow, 'prices' | 'overrides' | 'times' | 'unmapped'>

/** Converts one row to the gateway's prices; every field with a cost is charged, repeated by another, or reported. */
class RowReading {
  readonly #own: Fields
  readonly #costing: readonly string[]
  readonly #provider: string | undefined

  constructor(own: Fields, costing: readonly string[], provider: string | undefined) {
    this.#own = own
    this.#costing = costing
    this.#provider = provider
  }

  /** Uses the first way for which the row has prices. */
  price(known: readonly (readonly Way[])[], mode: string): Cost | string | undefined {
    const found = known.map(way => this.#priceBy(way, mode)).filter(cost => cost !== undefined)
    return found.find(one => typeof one !== 'string') ?? found[0]
  }

  /** Undefined if the row is not priced in this way; a text gives the reason why charges cannot use it. */
  #priceBy(way: readonly Way[], mode: string): Cost | string | undefined {
    const [first] = way
    return first && 'tokens' in first ? this.#byTokens(first.tokens, mode) : this.#byLabels(way)
  }

  #byLabels(way: readonly Way[]): Cost | string | undefined {
    const prices: { [label: string]: string } = {}
    const charged = new Set<string>()
    for (const one of way) {
      if (!('label' in one)) continue
      const given = one.fields.filter(name => this.#costing.includes(name))
      const [field] = given
      if (field === undefined) continue
      if (new Set(given.map(name => this.#own[name])).size > 1) return `${given.join(' and ')} have different prices`
      const text = textOf(this.#own[field]) ?? ''
      const found = one.label === 'second' ? timePrice(text) : onePrice(one.label, text)
      if (!found) return `${field} ${sixPlaces}`
      prices[found.label] = found.price
      for (const name of given) charged.add(name)
    }
    if (charged.size === 0) return undefined
    const rest = this.#costing.filter(name => !charged.has(name)).flatMap(name => this.#left(name, charged))
    return { prices, ...unmappedOf(rest) }
  }

  #byTokens(needed: readonly UnitName[], mode: string): Cost | string | undefined {
    const own = this.#own
    const tiered = own['tiered_pricing']
    const grid = new PriceGrid(this.#provider === 'xai')
    const charged = new Set<string>()
    const rest: string[] = []
    const fault = Array.isArray(tiered)
      ? this.#readTiers(tiered.map(fieldsOf), grid, charged)
      : this.#readFields(grid, charged, rest, mode)
    if (fault !== undefined) return fault
    const kind = kindsOfOutput.find(unit => grid.get(unit) !== undefined)
    if (grid.get('output') === undefined && kind && !answerless.has(mode) && mode !== 'chat')
      grid.set('output', grid.get(kind) as string)
    const missing = needed.find(unit => grid.get(unit) === undefined)
    if (missing !== undefined)
      return needed.some(unit => grid.get(unit) !== undefined) ? `it has no ${missing}_cost_per_token` : undefined
    const otherPrices: { [label: string]: string } = {}
    const times: { if: PriceConditions; by: string }[] = []
    const windows: RowOverride[] = []
    for (const name of this.#costing) {
      if (charged.has(name)) continue
      const read = this.#readBeside(name, grid)
      if (typeof read === 'string') return `${name} ${read}`
      if (read?.price) Object.assign(otherPrices, read.price)
      if (read?.times) times.push(...read.times)
      if (read?.overrides) windows.push(...read.overrides)
      if (read) charged.add(name)
    }
    times.push(...this.#specificFactors(rest))
    for (const name of this.#costing) if (!charged.has(name)) rest.push(...this.#left(name, charged, mode))
    const overrides = [...windows, ...grid.overrides()]
    return {
      prices: { ...grid.prices(), ...otherPrices },
      ...(overrides.length > 0 && { overrides }),
      ...(times.length > 0 && { times }),
      ...unmappedOf(rest),
    }
  }

  /** @returns why charges cannot use the row */
  #readFields(grid: PriceGrid, charged: Set<string>, rest: string[], mode: string): string | undefined {
    for (const name of this.#costing) {
      const field = readTokenField(name)
      if (!field) continue
      const { unit, cell } = field
      // Tables contain a price of output, which such answers do not have.
      if (answerless.has(mode) && unit === 'output') {
        charged.add(name)
        continue
      }
      const price = priceOf(textOf(this.#own[name]) ?? '', 6)
      if (price === undefined) return `${name} ${sixPlaces}`
      const before = grid.get(unit, cell)
      if (before === undefined) grid.set(unit, price, cell)
      else if (before !== price) rest.push(`${name} (another price of the same is ${before})`)
      charged.add(name)
    }
    return undefined
  }

  /** `tiered_pricing`: one price for the whole request, by its input. @returns why charges cannot use the row */
  #readTiers(list: readonly Fields[], grid: PriceGrid, charged: Set<string>): string | undefined {
    const ranges = list.map(tier => ({ tier, from: rangeOf(tier) })).toSorted((a, b) => (a.from ?? 0) - (b.from ?? 0))
    for (const [i, { tier, from }] of ranges.entries()) {
      if (from === undefined) return 'tiered_pricing has no range of tokens'
      for (const name of Object.keys(tier)) {
        if (name === 'range' || !costs(tier[name])) continue
        const field = readTokenField(name)
        if (!field || field.cell.tier !== undefined || field.cell.above !== undefined)
          return `tiered_pricing has ${name}, which is not supported`
        const price = priceOf(textOf(tier[name]) ?? '', 6)
        if (price === undefined) return `${name} of tiered_pricing ${sixPlaces}`
        grid.set(field.unit, price, i === 0 ? {} : { above: from })
      }
    }
    charged.add('tiered_pricing')
    for (const name of this.#costing) {
      const field = readTokenField(name)
      if (!field) continue
      const price = priceOf(textOf(this.#own[name]) ?? '', 6)
      // The price next to the ranges repeats that of the first range.
      if (price !== undefined && grid.get(field.unit, field.cell) === price) charged.add(name)
    }
    return undefined
  }

  /**
   * Reads prices other than those of tokens: calls, factors, hours. A text gives the reason why the price cannot be
   * expressed; undefined for other fields.
   */
  #readBeside(
    name: string,
    grid: PriceGrid,
  ):
    | {
        readonly price?: { readonly [label: string]: string }
        readonly times?: readonly { readonly if: PriceConditions; readonly by: string }[]
        readonly overrides?: readonly RowOverride[]
      }
    | string
    | undefined {
    const value = this.#own[name]
    if (name === 'search_context_cost_per_query') {
      const prices = new Set(Object.values(fieldsOf(value)).map(String))
      const [only, ...more] = prices
      if (only === undefined || more.length > 0) return undefined
      return calls(this.#searchUnit(), only, 3)
    }
    if (name === 'google_maps_grounding_cost_per_query') return calls('maps', String(value), 3)
    if (name === 'input_cost_per_request') return calls('request', String(value), 0)
    const region = /^regional_processing_uplift_multiplier_(\w+)$/.exec(name)?.[1]
    if (region !== undefined) return factor({ region }, value)
    if (name === 'fedramp_uplift_multiplier') return factor({ region: 'fedramp' }, value)
    if (name === 'regional_endpoint_uplift_multiplier') return factor({ region: 'regional' }, value)
    if (name !== 'off_peak_pricing' || grid.hasConditions) return undefined
    const block = fieldsOf(value)
    const windows = readWindows(block)
    const prices = new PriceGrid()
    for (const field of Object.keys(block)) {
      const read = isPrice.test(field) ? readTokenField(field) : undefined
      const price = read && priceOf(String(block[field]), 6)
      if (read && price === undefined) return sixPlaces
      if (read) prices.set(read.unit, price as string)
    }
    return windows && { overrides: windows.map(one => ({ if: one, prices: prices.prices() })) }
  }

  /** One vendor counts grounded prompts, or the queries that they needed. */
  #searchUnit(): UnitName {
    const isGoogle = /^(?:gemini|vertex_ai)/.test(this.#provider ?? '')
    return isGoogle && this.#own['web_search_billing_unit'] !== 'per_query' ? 'grounding' : 'web_search'
  }

  /** `provider_specific_entry`: factors by region and speed, among other flags. */
  #specificFactors(rest: string[]): readonly { if: PriceConditions; by: string }[] {
    const times: { if: PriceConditions; by: string }[] = []
    for (const [name, value] of Object.entries(fieldsOf(this.#own['provider_specific_entry']))) {
      const by = typeof value === 'string' ? readDecimal(value) : undefined
      if (by === undefined || by === '1') continue
      if (name === 'fast') times.push({ if: { speed: name }, by })
      else if (/^[a-z]{2}$/.test(name)) times.push({ if: { region: name }, by })
      else rest.push(`provider_specific_entry.${name} (it is unknown what the factor applies to)`)
    }
    return times
  }

  /** The report of a field that the gateway has no price for; empty if another field repeats it. */
  #left(name: string, charged: ReadonlySet<string>, mode = ''): readonly string[] {
    if (isRestated(name, charged) || isUnreachable(name)) return []
    const modalities = this.#own['supported_output_modalities']
    const isImage = /^output_cost_per_image(?:_token)?(?:_|$)/.test(name)
    if (mode === 'chat' && isImage && Array.isArray(modalities) && !modalities.includes('image')) return []
    return [`${name} (${whyNot(name)})`]
  }
}

function whyNot(name: string): string {
  if (name === 'search_context_cost_per_query') return 'it depends on the size of the search, which no response reports'
  if (name === 'off_peak_pricing') return 'its hours do not fit one time zone, or are combined with other conditions'
  if (name === 'tiered_pricing') return 'it has no ranges'
  return 'no response reports it'
}

function unmappedOf(rest: readonly string[]): Pick<TableRow, 'unmapped'> {
  return rest.length > 0 ? { unmapped: rest } : {}
}

function calls(label: string, text: string, places: number) {
  const price = priceOf(text, places)
  return price === undefined ? sixPlaces : { price: { [label]: price } }
}

function factor(conditions: PriceConditions, value: unknown) {
  const by = readDecimal(String(value))
  if (by === undefined || (by.split('.')[1] ?? '').length > 6) return sixPlaces
  return { times: [{ if: conditions, by }] }
}

/** A price per second, or per minute or hour if only that fits into six places. */
function timePrice(text: string): { readonly label: string; readonly price: string } | undefined {
  const decimal = readDecimal(text)
  if (decimal === undefined) return undefined
  for (const [label, seconds] of [
    ['second', '1'],
    ['minute', '60'],
    ['hour', '3600'],
  ] as const) {
    const price = toPrice(withoutNoise(multiply(decimal, seconds)))
    if (price !== undefined) return { label, price }
  }
  return undefined
}

function onePrice(label: string, text: string): { readonly label: string; readonly price: string } | undefined {
  const price = priceOf(text, units.get(label)?.per === 1_000_000 ? 6 : 0)
  return price === undefined ? undefined : { label, price }
}

/** The lower bound of a tier in input tokens, above which it begins. */
function rangeOf(tier: Fields): number | undefined {
  const { range } = tier
  const from = Array.isArray(range) ? Number(range[0]) : Number.NaN
  return Number.isSafeInteger(from) && from >= 0 ? from : undefined
}

/** Whether a field contains a cost: a number above 0, or such a number in a mapping or a list. */
function costs(value: unknown): boolean {
  if (typeof value === 'string') {
    const decimal = readDecimal(value)
    return decimal !== undefined && !isZero(decimal)
  }
  return typeof value === 'object' && value !== null && Object.values(value).some(one => costs(one))
}

/** A negative value, or text that looks like a number but is none, is not a price of 0. */
function isAmount(value: unknown): boolean {
  return typeof value !== 'string' || !/^\s*[-+]?(?:[.\d]|nan|inf)/i.test(value) || readDecimal(value) !== undefined
}

export function priceOf(text: string, places: number): string | undefined {
  const decimal = readDecimal(text)
  return decimal === undefined ? undefined : toPrice(withoutNoise(shiftPoint(decimal, places)))
}

/** Why an image price cannot be used: one price of a model with several sizes hides the cost of large ones. */
function imageFault(id: string, costing: readonly string[], bySize: ReadonlySet<string>): string | undefined {
  const counted = costing.find(name => /_(?:per_image_token|per_pixel)$/.test(name))
  if (counted !== undefined) return `${counted}: its image prices depend on more than one price can express`
  if (sized.test(id)) return 'it is one size of a model: price the model by its tiers'
  if (bySize.has(id.slice(id.lastIndexOf('/') + 1))) return 'its price depends on the size, which other rows say'
  if (costing.includes('input_cost_per_image') && !costing.includes('output_cost_per_image'))
    return 'input_cost_per_image may be a price of input or of output images'
  return undefined
}
