import type { TableRow, UnitName } from '../../domain/index.ts'
import { isZero, readDecimal } from './decimals.ts'
import { priceOf } from './litellm-table.ts'
import { PriceGrid } from './price-grid.ts'
import { repeatedNames } from '../../util/index.ts'
import { type Fields, fieldsOf, parseExact, listedTwice, type SourceTable, textOf } from './source-table.ts'

/** OpenRouter's names and the gateway's units; prices of tokens are per token. */
const tokens: { readonly [field: string]: UnitName } = {
  prompt: 'input',
  input_cache_read: 'cached_input',
  input_cache_write: 'cache_write',
  input_cache_write_1h: 'cache_write_1h',
  audio: 'input_audio',
  input_audio_cache: 'cached_input_audio',
  image_token: 'input_image',
  completion: 'output',
  internal_reasoning: 'reasoning',
  audio_output: 'output_audio',
}
/** Prices per request and per search: the label, and the quantity of the gateway's price as a power of ten. */
const calls: { readonly [field: string]: readonly [label: string, places: number] } = {
  request: ['request', 0],
  web_search: ['web_search', 3],
}

/** Reads an answer of OpenRouter's `GET /api/v1/models`. Undefined if the text is not one. */
export function readOpenrouterTable(text: string): SourceTable | undefined {
  const { data } = fieldsOf(parseExact(text)?.value)
  if (!Array.isArray(data)) return undefined
  const all = data.map(fieldsOf)
  const models = all.filter(one => textOf(one['id']) !== undefined && typeof one['pricing'] === 'object')
  if (models.length === 0) return undefined
  const rows: TableRow[] = []
  const left: { id: string; why: string }[] = []
  const repeated = repeatedNames(text).map(([, at]) => String(all[Number(at)]?.['id']))
  const byId = Map.groupBy(models, one => String(one['id']))
  for (const [id, [one, ...more]] of byId) {
    const isTwice = more.length > 0 || repeated.includes(id)
    const read = isTwice ? listedTwice : readRow(id, fieldsOf(one?.['pricing']))
    if (typeof read === 'string') left.push({ id, why: read })
    else rows.push(read)
  }
  return { rows, left }
}

function readRow(id: string, pricing: Fields): TableRow | string {
  const about = { id, provider: 'openrouter' }
  if (Object.values(pricing).some(value => typeof value === 'string' && value.trim().startsWith('-')))
    return 'its price varies, because it routes to different models'
  const { overrides, discount: _discount, ...own } = pricing
  const unread = Object.keys(own).find(name => {
    const value = own[name]
    return typeof value === 'string' && readDecimal(value) === undefined
  })
  if (unread !== undefined) return `${unread} is not an amount`
  const costing = Object.keys(own).filter(name => isCosting(own[name]))
  if (costing.length === 0)
    return id.endsWith(':free')
      ? { ...about, prices: {}, free: true }
      : 'its price is missing or 0, which may mean unknown'
  // A size in the table is the smallest with the price.
  const grid = new PriceGrid(true)
  const callPrices: { [label: string]: string } = {}
  const unmapped: string[] = []
  for (const name of costing) {
    const text = textOf(own[name]) ?? ''
    const call = Object.hasOwn(calls, name) ? calls[name] : undefined
    const price = priceOf(text, call ? call[1] : 6)
    if (price === undefined) return `${name} has more than six decimal places`
    if (call) callPrices[call[0]] = price
    else if (Object.hasOwn(tokens, name)) grid.set(tokens[name] as UnitName, price)
    else unmapped.push(`${name} (no response reports it)`)
  }
  const missing = ['prompt', 'completion'].find(field => !costing.includes(field))
  if (
    missing !== undefined &&
    (callPrices['request'] === undefined || costing.includes('prompt') || costing.includes('completion'))
  )
    return `its price for ${missing} is missing or 0`
  const fault = Array.isArray(overrides) ? readOverrides(overrides.map(fieldsOf), grid) : undefined
  if (fault !== undefined) return fault
  const replaced = grid.overrides()
  return {
    ...about,
    prices: { ...grid.prices(), ...callPrices },
    ...(replaced.length > 0 && { overrides: replaced }),
    ...(unmapped.length > 0 && { unmapped }),
  }
}

function isCosting(value: unknown): boolean {
  const decimal = readDecimal(textOf(value) ?? '')
  return decimal !== undefined && !isZero(decimal)
}

/** Prices by the size of the prompt. @returns why charges cannot use the row */
function readOverrides(list: readonly Fields[], grid: PriceGrid): string | undefined {
  for (const { min_prompt_tokens: size, ...prices } of list) {
    const above = Number(size)
    if (!Number.isSafeInteger(above) || above < 1) return 'overrides has a condition that is not supported'
    for (const [name, value] of Object.entries(prices)) {
      if (!Object.hasOwn(tokens, name)) return `overrides has ${name}, which is not supported`
      const price = priceOf(textOf(value) ?? '', 6)
      if (price === undefined) return `${name} of overrides is not an amount with at most six decimal places`
      grid.set(tokens[name] as UnitName, price, { above })
    }
  }
  return undefined
}
