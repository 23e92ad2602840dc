import { type Account, type Charge, formatMoney, type Line, type UsageRule } from '../../src/kit/index.ts'

/** What use is counted in, as the console prints it. */
const unitLabels: { readonly [unit: string]: string } = {
  input: '输入',
  cached_input: '缓存输入',
  output: '输出',
  character: '字符',
  second: '秒',
  search_unit: '检索单元',
  request: '请求',
}

/** Explains a charge of what was used: so much of each unit, at the price of each. */
export function record({ lines, rule: stored }: Charge): Account {
  // Charges of this kind are written by this plugin alone.
  const rule = stored as UsageRule
  return {
    text: useText(lines),
    count: null,
    rule: {
      text: 'what was used, at the price of each',
      rows: rule.prices.map(({ unit, price, per, at }) => {
        return { tier: unit, long_edge_max: null, price: formatMoney(price), per, at }
      }),
      multiplier: `group multiplier ×${rule.multiplier}`,
    },
    line: line => ({
      why: whyPrice(rule, line),
      at: rule.prices.find(row => row.unit === line.tier)?.at ?? null,
    }),
  }
}

/** `输入 12, 输出 34`; `-` when nothing was used. */
function useText(lines: readonly Line[]): string {
  const uses = lines.map(({ tier, quantity }) => `${unitLabels[tier] ?? tier} ${quantity ?? 0}`)
  return uses.length === 0 ? '-' : uses.join(', ')
}

function whyPrice(rule: UsageRule, line: Line): string {
  const row = rule.prices.find(one => one.unit === line.tier)
  const factor = rule.multiplier === '1' ? '' : ` × ${rule.multiplier}`
  const counted = line.source === 'default' ? ' (estimated)' : ''
  const of = (row?.per ?? 1) === 1_000_000 ? ' / 1M' : ''
  return `${line.quantity ?? 0} ${unitName(line.tier)}${counted} × ${formatMoney(row?.price ?? 0)}${of}${factor}`
}

/** `input tokens` of `input`; other units are called by what they are. */
function unitName(unit: string): string {
  if (unit === 'search_unit') return 'search units'
  return unit === 'input' || unit === 'cached_input' || unit === 'output' ? `${unit.replace('_', ' ')} tokens` : unit
}
