import type { TableRow } from '../../kit/index.ts'
import { isZero, readDecimal } from './decimals.ts'
import { priceOf } from './litellm-table.ts'
import { repeatedNames } from './repeated-names.ts'
import { type Fields, fieldsOf, parseExact, saidTwice, type SourceTable, textOf } from './source-table.ts'

/** OpenRouter's names and ours; prices of tokens are given each. */
const labels: readonly (readonly [field: string, label: string, places: number])[] = [
  ['prompt', 'input', 6],
  ['input_cache_read', 'cached_input', 6],
  ['completion', 'output', 6],
  ['request', 'request', 0],
]
/** Prices of answers that have no label of ours. */
const ofAnswers = ['image_output', 'audio_output', 'image_token']

/** Reads an answer of OpenRouter's `GET /api/v1/models`. Undefined when the text is none. */
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
    const read = isTwice ? saidTwice : readRow(id, fieldsOf(one?.['pricing']))
    if (typeof read === 'string') left.push({ id, why: read })
    else rows.push(read)
  }
  return { rows, left }
}

function readRow(id: string, pricing: Fields): TableRow | string {
  const about = { id, provider: 'openrouter' }
  if (Object.values(pricing).some(value => typeof value === 'string' && value.trim().startsWith('-')))
    return 'its price varies: another model answers each time'
  const unread = Object.keys(pricing).find(name => {
    const value = pricing[name]
    return name !== 'discount' && typeof value === 'string' && readDecimal(value) === undefined
  })
  if (unread !== undefined) return `${unread} is no amount`
  const costing = Object.keys(pricing).filter(name => {
    const decimal = readDecimal(textOf(pricing[name]) ?? '')
    return decimal !== undefined && !isZero(decimal)
  })
  if (costing.length === 0)
    return id.endsWith(':free')
      ? { ...about, prices: {}, free: true }
      : 'it says no price, or 0, which may mean that nobody knew'
  const prices: { [label: string]: string } = {}
  for (const [field, label, places] of labels) {
    if (!costing.includes(field)) continue
    const price = priceOf(textOf(pricing[field]) ?? '', places)
    if (price === undefined) return `${field} has more than six decimal places`
    prices[label] = price
  }
  const missing = ['prompt', 'completion'].find(field => !costing.includes(field))
  if (
    missing !== undefined &&
    (prices['request'] === undefined || costing.includes('prompt') || costing.includes('completion'))
  )
    return `it says no price, or 0, for ${missing}`
  const same = (name: string): boolean => priceOf(String(pricing[name]), 6) === prices['output']
  const unmapped = costing.filter(
    name => labels.every(([field]) => field !== name) && !(name === 'internal_reasoning' && same(name)),
  )
  const given = unmapped.find(name => name === 'internal_reasoning' || ofAnswers.includes(name))
  if (given !== undefined) return `${given} is a price of answers, and nothing here counts by it`
  return { ...about, prices, ...(unmapped.length > 0 && { unmapped }) }
}
