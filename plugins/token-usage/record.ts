import {
  type Account,
  type Charge,
  formatMoney,
  isTokens,
  type ChargeItem,
  type UnitRow,
  type UsageRule,
} from '../../src/plugin-api/index.ts'
import {
  type Exact,
  exactAmount,
  partsPerMicro,
  priceListOf,
  situationOf,
  situationOfLine,
} from '../../src/pricing/index.ts'
import { type AppliedFactor, factorsOf, rowsOf, timesOf } from './applied-prices.ts'

/** The labels of units in the console. */
const unitLabels: { readonly [unit: string]: string } = {
  input: '输入',
  cached_input: '缓存输入',
  cached_input_audio: '缓存音频输入',
  cached_input_image: '缓存图片输入',
  cached_input_video: '缓存视频输入',
  cache_write: '缓存写入',
  cache_write_1h: '缓存写入（1 小时）',
  input_audio: '音频输入',
  input_image: '图片输入',
  input_video: '视频输入',
  output: '输出',
  reasoning: '推理',
  output_audio: '音频输出',
  output_image: '图片输出',
  character: '字符',
  second: '秒',
  search_unit: '检索单元',
  request: '请求',
  web_search: '网页搜索',
  grounding: '搜索增强',
  maps: '地图',
  code_execution: '代码执行',
  file_search: '文件搜索',
  cache_storage: '缓存存储（词元·小时）',
}

/** Explains a charge for usage: the quantity of each unit, at its price. */
export function record(charge: Charge): Account {
  const { lines } = charge
  // Only this plugin writes charges of this kind.
  const rule = charge.rule as UsageRule
  const situation = situationOf(charge)
  const prices = priceListOf(rule, situation)
  const factors = factorsOf(rule, situation)
  return {
    text: useText(lines),
    count: null,
    rule: {
      text: 'usage at the price of each unit',
      rows: rowsOf(rule, situation).map(({ unit, price, per, at }) => {
        return { tier: unit, long_edge_max: null, price: formatMoney(price), per, at }
      }),
      multiplier: [`group multiplier ×${rule.multiplier}`, ...factors.map(({ text, by }) => `${text} ×${by}`)].join(
        ', ',
      ),
    },
    line: line => {
      const isOfGroup = line.told?.facts?.['input'] !== undefined
      const list = isOfGroup ? priceListOf(rule, situationOfLine(charge, line)) : prices
      const { row } = list.find(line.tier)
      const { quantity, tier } = line
      const exact = row && exactAmount(quantity ?? 0, row.price, row.per, list.factorOf(tier))
      return { why: whyPrice(rule, line, row, factors) + exactText(exact), at: row?.at ?? null }
    },
  }
}

/** `输入 12, 输出 34`; `-` if nothing was used. */
function useText(lines: readonly ChargeItem[]): string {
  const uses = lines.map(({ tier, quantity }) => `${unitLabels[tier] ?? tier} ${quantity ?? 0}`)
  return uses.length === 0 ? '-' : uses.join(', ')
}

function whyPrice(
  rule: UsageRule,
  line: ChargeItem,
  row: UnitRow | undefined,
  factors: readonly AppliedFactor[],
): string {
  const counted = line.source === 'default' ? ' (estimated)' : ''
  const used = `${line.quantity ?? 0} ${unitName(line.tier, line.quantity ?? 0)}${counted}`
  if (!row) return `${used}: no price`
  const all = timesOf(rule, line.tier, factors)
  const of = perText.get(row.per) ?? ''
  const inherited = row.unit === line.tier ? '' : ` (the price of ${unitName(row.unit)})`
  return `${used} × ${formatMoney(row.price)}${of}${inherited}${all.map(by => ` × ${by}`).join('')}`
}

/** ` = 0.0000005` for an amount that is not a whole number of millionths: items of a charge are rounded together. */
function exactText(exact: Exact | undefined): string {
  if (!exact || exact.part === 0) return ''
  let fine = BigInt(exact.whole) * BigInt(partsPerMicro) + BigInt(exact.part)
  let places = exactPlaces
  for (; fine % 10n === 0n; places--) fine /= 10n
  const digits = String(fine).padStart(places + 1, '0')
  return ` = ${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** The decimal places of a part of a millionth. */
const exactPlaces = 15

const perText: ReadonlyMap<number, string> = new Map([
  [1_000_000, ' / 1M'],
  [1_000, ' / 1K'],
  [60, ' / minute'],
  [3600, ' / hour'],
])

/** `cached input tokens` for `cached_input`; `1 request`, `2 requests`. */
function unitName(unit: string, quantity = 0): string {
  if (unit === 'cache_storage') return 'token-hours of cache storage'
  const name = unit.replaceAll('_', ' ') + (isTokens(unit) ? ' token' : '')
  if (quantity === 1 || unit === 'grounding' || unit === 'maps') return name
  return name.endsWith('h') ? `${name}es` : `${name}s`
}
