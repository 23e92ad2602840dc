import type { TableRow, UnitRow, UsageFacts, UsageRule } from '../../src/domain/index.ts'
import { unitAliases, units } from '../../src/domain/index.ts'
import { parseMoney } from '../../src/util/index.ts'
import { priceListOf } from '../../src/pricing/index.ts'

type Fields = { readonly [name: string]: unknown }

const priceLike = /(?:^|_)(?:cost|price|pricing|uplift|multiplier)(?:_|$)/
const unitsOfTokens: { readonly [field: string]: string } = {
  input_cost_per_token: 'input',
  input_cost_per_audio_token: 'input_audio',
  input_cost_per_image_token: 'input_image',
  input_cost_per_video_token: 'input_video',
  input_cost_per_token_cache_hit: 'cached_input',
  cache_read_input_token_cost: 'cached_input',
  cache_read_input_audio_token_cost: 'cached_input_audio',
  cache_read_input_image_token_cost: 'cached_input_image',
  cache_creation_input_token_cost: 'cache_write',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  cache_creation_input_token_cost_above_12hr: 'cache_write_1h',
  output_cost_per_token: 'output',
  output_cost_per_reasoning_token: 'reasoning',
  output_cost_per_audio_token: 'output_audio',
  output_cost_per_image_token: 'output_image',
}
const others: { readonly [field: string]: string } = {
  input_cost_per_request: 'request',
  google_maps_grounding_cost_per_query: 'maps',
  input_cost_per_second: 'second',
  output_cost_per_second: 'second',
  input_cost_per_character: 'character',
  input_cost_per_query: 'search_unit',
  output_cost_per_image: 'each',
  output_cost_per_image_1K: '1K',
  output_cost_per_image_2K: '2K',
  output_cost_per_image_4K: '4K',
}
/** Fields that another charged field covers. */
const saidElsewhere: { readonly [field: string]: readonly string[] } = {
  output_cost_per_image: ['output_cost_per_image_token', 'output_cost_per_image_1K', 'output_cost_per_image_2K'],
  input_cost_per_image: ['input_cost_per_image_token', 'output_cost_per_image_token'],
  output_cost_per_second: ['output_cost_per_audio_token', 'output_cost_per_token'],
  input_cost_per_second: ['input_cost_per_audio_token', 'input_cost_per_token'],
  input_dbu_cost_per_token: ['input_cost_per_token'],
  output_dbu_cost_per_token: ['output_cost_per_token'],
}
const tierNames: { readonly [ending: string]: string } = { batches: 'batch' }
/** No off-peak window includes a Monday at 07:00 UTC, and each one includes a Saturday at that time. */
const peak = Date.UTC(2026, 10, 23, 7)
const offPeak = Date.UTC(2026, 10, 28, 7)

/** Every field of a row that has a cost. */
export function costingFields(own: Fields): readonly string[] {
  return Object.keys(own).filter(name => priceLike.test(name) && costs(own[name]))
}

/**
 * Fields of a row of LiteLLM's table whose price the imported row does not charge, each with the price that it charges.
 */
export function unchargedFields(own: Fields, row: TableRow): readonly string[] {
  const rating = new Rating(row)
  const isAnswerless = own['mode'] === 'embedding' || own['mode'] === 'rerank'
  const faults: string[] = []
  for (const name of costingFields(own)) {
    if (name.endsWith('_decisions') || (isAnswerless && name.startsWith('output_cost_per_token'))) continue
    if ((saidElsewhere[name] ?? []).some(field => costs(own[field])) && !isByTime(row)) continue
    const modalities = own['supported_output_modalities']
    if (name === 'output_cost_per_image' && own['mode'] === 'chat' && !(modalities as string[]).includes('image'))
      continue
    const wrong = faultOf(name, own, rating)
    if (wrong !== undefined) faults.push(`${name}: ${wrong}`)
  }
  for (const [name, value] of Object.entries((own['provider_specific_entry'] ?? {}) as Fields))
    if (name === 'us' || name === 'fast') {
      const facts = name === 'us' ? { region: name } : { speed: name }
      if (!isNear(rating.factor(facts), Number(value))) faults.push(`provider_specific_entry.${name}`)
    }
  return faults
}

/** Whether the price is per time, so that seconds are charged. */
function isByTime({ prices }: TableRow): boolean {
  return ['second', 'minute', 'hour'].some(label => prices[label] !== undefined)
}

function faultOf(name: string, own: Fields, rating: Rating): string | undefined {
  const value = own[name]
  if (name === 'search_context_cost_per_query')
    return Object.values(value as Fields)
      .map(each => rating.differs('web_search', Number(each)))
      .find(one => one !== undefined)
  if (name === 'tiered_pricing')
    return (value as (Fields & { readonly range: readonly number[] })[])
      .flatMap(({ range, ...tier }) =>
        costingFields(tier).map(field =>
          rating.differs(unitsOfTokens[field], Number(tier[field]), { input: (range[0] as number) + 1 }),
        ),
      )
      .find(one => one !== undefined)
  if (name === 'off_peak_pricing')
    return costingFields(value as Fields)
      .map(field => rating.differs(unitsOfTokens[field], Number((value as Fields)[field]), { at: offPeak }))
      .find(one => one !== undefined)
  const region = /^(?:regional_processing|fedramp|regional_endpoint)_uplift_multiplier(?:_(\w+))?$/.exec(name)
  if (region) {
    const named = region[1] ?? (name.startsWith('fedramp') ? 'fedramp' : 'regional')
    return isNear(rating.factor({ region: named }), Number(value)) ? undefined : 'another factor'
  }
  const known = others[name]
  if (known !== undefined) return rating.differs(known, Number(value))
  const [, base = '', size, thousands, tier] =
    /^(.+?)(?:_above_(\d+)(k?)_tokens)?(?:_(priority|flex|batches|ultrafast|balanced))?$/.exec(name) ?? []
  const above = size === undefined ? 0 : Number(size) * (thousands === 'k' ? 1000 : 1)
  const facts = tier === undefined ? {} : { service_tier: tierNames[tier] ?? tier }
  return rating.differs(unitsOfTokens[base], Number(value), { input: above + 1, facts })
}

type Situation = { readonly input?: number; readonly facts?: UsageFacts; readonly at?: number }

/** The charge of a row, computed by the code that charges. */
class Rating {
  readonly #row: TableRow
  readonly #rule: UsageRule

  constructor(row: TableRow) {
    this.#row = row
    this.#rule = ruleOf(row)
  }

  /** Undefined if one unit costs exactly this many dollars. */
  differs(unit: string | undefined, dollars: number, { input = 1, facts = {}, at = peak }: Situation = {}) {
    if (unit === undefined) return 'it is never charged'
    const { row } = priceListOf(this.#rule, { input, facts, at }).find(unit === 'web_search' ? this.#search : unit)
    const charged = row ? row.price / 1e6 / row.per : Number(this.#row.prices[unit] ?? Number.NaN)
    return isNear(charged, dollars) ? undefined : `${charged} instead of ${dollars}`
  }

  /** The factor on the price of tokens under these facts. */
  factor(facts: UsageFacts): number {
    const { over, under } = priceListOf(this.#rule, { input: 1, facts, at: peak }).factor
    return Number(over) / Number(under)
  }

  get #search(): string {
    return this.#row.prices['web_search'] === undefined ? 'grounding' : 'web_search'
  }
}

/** The charge rule for usage with the prices of a row. */
export function ruleOf({ prices, overrides, times }: TableRow): UsageRule {
  return {
    kind: 'usage',
    prices: rowsOf(prices),
    ...(overrides && { overrides: overrides.map(one => ({ if: one.if, prices: rowsOf(one.prices) })) }),
    ...(times && { times: times.map(one => ({ ...one, at: '' })) }),
    counts: 'all',
    multiplier: '1',
    warnings: [],
  }
}

function rowsOf(prices: { readonly [label: string]: string }): readonly UnitRow[] {
  return Object.entries(prices).flatMap(([label, price]) => {
    const { unit, per } = unitAliases.get(label) ?? { unit: label, per: units.get(label)?.per }
    return per === undefined ? [] : [{ unit, per, price: parseMoney(price) as number, at: '' }]
  })
}

/** Tables contain floating-point noise. */
function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= Math.abs(other) * 1e-9
}

function costs(value: unknown): boolean {
  if (typeof value === 'number') return value > 0
  return typeof value === 'object' && value !== null && Object.values(value).some(costs)
}
