import type { TableRow, UnitName } from '../../domain/index.ts'
import { isZero, multiply, readDecimal, toPrice, toRoundedPrice, withoutNoise } from './decimals.ts'
import { readExpression } from './new-api-expression.ts'
import { PriceGrid } from './price-grid.ts'
import { repeatedNames } from '../../util/index.ts'
import { type Fields, fieldsOf, parseExact, listedTwice, type SourceTable, textOf } from './source-table.ts'

/** Maps by model name, as in the options of new-api and one-api. */
type Ratios = { readonly [map: string]: Fields }

/** The price in USD per million tokens of a ratio of 1. */
const perRatio = '2'
const quotaPerUnit = '500000'
const kinds = ['CreateCacheRatio', 'ImageRatio', 'AudioRatio', 'AudioCompletionRatio']
const pricing = ['ModelPrice', 'ModelRatio', 'CompletionRatio', 'CacheRatio', ...kinds]
/** The alternative to ratios for a model, in its options and in the answers of a running instance. */
const modes = ['billing_setting.billing_mode', 'billing_setting.billing_expr'] as const
/** In new-api's code, a cache write for an hour costs this many times one for five minutes. */
const hourOverMinutes = '1.6'
/** The same in an answer of `/api/pricing`, one object for each model. */
const ofPricing: { readonly [field: string]: string } = {
  model_ratio: 'ModelRatio',
  completion_ratio: 'CompletionRatio',
  cache_ratio: 'CacheRatio',
  create_cache_ratio: 'CreateCacheRatio',
  image_ratio: 'ImageRatio',
  audio_ratio: 'AudioRatio',
  audio_completion_ratio: 'AudioCompletionRatio',
}

/** The same in an answer of `/api/ratio_config`, one map for each. */
const ofConfig: { readonly [field: string]: string } = { ...ofPricing, model_price: 'ModelPrice' }

/** Called with a price that was rounded, because it has more than six decimal places. */
export type OnRounded = (id: string, exact: string, price: string) => void

/**
 * Reads the ratios of new-api: its options as one object, as the list from `/api/option/`, or the answers of
 * `/api/ratio_config` or `/api/pricing`; the latter also has the ratios in its code. Undefined if the text is none of
 * them. With `onRounded`, rounds and reports products of ratios that have more than six decimal places; without it,
 * leaves their rows out.
 */
export function readNewApiRatios(text: string, onRounded?: OnRounded): SourceTable | undefined {
  const parsed = parseExact(text)
  const ratios = parsed && ratioMapsOf(parsed.value)
  if (!ratios) return undefined
  const unit = ratios['']?.['QuotaPerUnit']
  if (unit !== undefined && readDecimal(textOf(unit) ?? '') !== quotaPerUnit) return undefined
  const names = new Set(['ModelRatio', 'ModelPrice', modes[1]].flatMap(map => Object.keys(ratios[map] ?? {})))
  const rows: TableRow[] = []
  const left: { id: string; why: string }[] = []
  const twice = repeatedModels(text, parsed.value)
  for (const id of names) {
    const read = twice.has(id) ? listedTwice : readRow(id, ratios, onRounded)
    if (typeof read === 'string') left.push({ id, why: read })
    else rows.push(read)
  }
  return { rows, left }
}

/**
 * The maps of options, of `/api/pricing` or of `/api/ratio_config` by the names of options, with numbers as texts;
 * values that are not maps, such as QuotaPerUnit, are under the empty name. Undefined if there are no prices.
 */
export function ratioMapsOf(value: unknown): Ratios | undefined {
  const { data = value } = fieldsOf(value)
  const list = Array.isArray(data) ? data.map(fieldsOf) : undefined
  if (list?.some(one => one['model_name'] !== undefined)) return ratiosOfPricing(list)
  const options = list ? Object.fromEntries(list.map(one => [String(one['key']), one['value']])) : fieldsOf(data)
  const maps: { [map: string]: Fields } = {}
  for (const [name, given] of Object.entries(options)) {
    const inner = typeof given === 'string' && given.trim().startsWith('{') ? parseExact(given)?.value : given
    if (typeof inner === 'object') maps[ofConfig[name] ?? name] = fieldsOf(inner)
    else if (name === 'QuotaPerUnit') maps[''] = { QuotaPerUnit: inner }
  }
  return maps['ModelRatio'] || maps['ModelPrice'] || maps[modes[1]] ? maps : undefined
}

/** Models that a map, or the list of `/api/pricing`, contains twice. */
function repeatedModels(text: string, value: unknown): ReadonlySet<string> {
  const { data = value } = fieldsOf(value)
  const list = Array.isArray(data) ? data.map(fieldsOf) : []
  const inner = [...list.map(one => one['value']), ...Object.values(fieldsOf(data))].filter(
    one => typeof one === 'string',
  )
  const named = list.flatMap(one => textOf(one['model_name']) ?? [])
  const seen = new Set<string>()
  const again = named.filter(name => seen.size === seen.add(name).size)
  const maps = [text, ...inner.filter(one => one.trim().startsWith('{') && parseExact(one))]
  return new Set([...again, ...maps.flatMap(repeatedNames).map(path => path.at(-1) ?? '')])
}

function ratiosOfPricing(list: readonly Fields[]): Ratios {
  const maps: { [map: string]: { [model: string]: unknown } } = { ModelRatio: {}, ModelPrice: {} }
  for (const one of list) {
    const model = textOf(one['model_name'])
    if (model === undefined) continue
    if (one['billing_mode'] !== undefined)
      for (const [field, map] of [
        ['billing_mode', modes[0]],
        ['billing_expr', modes[1]],
      ] as const)
        (maps[map] ??= {})[model] = one[field]
    // Models of type 1 are charged by the call.
    if (one['quota_type'] === '1') (maps['ModelPrice'] ??= {})[model] = one['model_price']
    else
      for (const [field, map] of Object.entries(ofPricing))
        if (one[field] !== undefined && one[field] !== null) (maps[map] ??= {})[model] = one[field]
  }
  return maps
}

function readRow(id: string, ratios: Ratios, onRounded?: OnRounded): TableRow | string {
  if (id.includes('*')) return 'a pattern is not a model'
  const mode = textOf(ratios[modes[0]]?.[id]) ?? 'ratio'
  if (mode === 'tiered_expr') {
    const read = readExpression(textOf(ratios[modes[1]]?.[id]) ?? '')
    return typeof read === 'string' ? read : { id, provider: 'new-api', ...read }
  }
  if (mode !== 'ratio') return `the mode '${mode}' is priced by a unit that is not supported`
  const ratio = (map: string): string | undefined => {
    const decimal = readDecimal(textOf(ratios[map]?.[id]) ?? '')
    return decimal === undefined || isZero(decimal) ? undefined : decimal
  }
  const unread = pricing.find(map => {
    const value = ratios[map]?.[id]
    return value !== undefined && value !== null && readDecimal(typeof value === 'string' ? value : '') === undefined
  })
  if (unread !== undefined) return `its ${unread} is not an amount`
  const about = { id, provider: 'new-api' }
  // The price of a call takes precedence over ratios in the source, too.
  const call = ratio('ModelPrice')
  if (call !== undefined) {
    const request = toPrice(withoutNoise(call))
    return request === undefined ? 'ModelPrice has more than six decimal places' : { ...about, prices: { request } }
  }
  const [model, completion, cached] = [ratio('ModelRatio'), ratio('CompletionRatio'), ratio('CacheRatio')]
  if (model === undefined) return 'its ratio is 0, which may mean unknown'
  if (completion === undefined)
    return 'it has no CompletionRatio: it is defined in the code of the source; /api/pricing of a running instance returns it'
  const [written, image, audio, spoken] = kinds.map(ratio)
  const grid = new PriceGrid()
  const factors: { readonly [unit in UnitName]?: readonly string[] } = {
    input: [model],
    ...(cached !== undefined && { cached_input: [model, cached] }),
    ...(written !== undefined && { cache_write: [model, written] }),
    ...(written !== undefined && /claude/i.test(id) && { cache_write_1h: [model, written, hourOverMinutes] }),
    ...(image !== undefined && { input_image: [model, image] }),
    ...(audio !== undefined && { input_audio: [model, audio] }),
    output: [model, completion],
    ...((audio ?? spoken) !== undefined && { output_audio: [model, audio ?? '1', spoken ?? '1'] }),
  }
  for (const [unit, own] of Object.entries(factors)) {
    const exact = withoutNoise(multiply(perRatio, ...own))
    let price = toPrice(exact)
    if (price === undefined && onRounded) {
      price = toRoundedPrice(exact)
      if (price !== undefined) onRounded(`${id}: ${unit}`, exact, price)
    }
    if (price === undefined) return `${unit} has more than six decimal places`
    grid.set(unit as UnitName, price)
  }
  return { ...about, prices: grid.prices() }
}
