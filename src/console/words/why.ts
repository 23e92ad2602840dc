import type { BillingRecord } from '../api/shapes.ts'
import { units } from '../../domain/usage.ts'
import { count, perCount } from '../numbers.ts'
import { groupNumbers, shownExact } from '../shown-money.ts'
import { language, t, tName } from './index.ts'

type Line = BillingRecord['lines'][number]

/** The reason for the tier of an item; in the gateway's own words if these are in the reader's language. */
export function tWhy({ size, rule }: Pick<BillingRecord, 'size' | 'rule'>, line: Line): string {
  const { tier, source, width, height, quantity, flags, why } = line
  // A person's reason may contain the number of a ticket.
  if (language.value === 'en') return rule.kind === 'usage' && tier !== 'decided' ? groupNumbers(why) : why
  if (tier === 'decided') return t('why.decided', { reason: /^decided by a person: (.*)$/s.exec(why)?.[1] ?? '–' })
  if (rule.kind === 'usage') return tUse(rule, line)
  if (rule.kind === 'cached_response') return tKept(why)
  if (rule.kind !== 'tiers') return why
  if (flags.includes('refused')) return t('why.refused', { tier })
  if (quantity !== null && tier !== 'decided') return t('why.beside', { quantity, tier })
  if (rule.by !== undefined || rule.rows.some(row => row.pixels_max !== undefined)) return why
  return t(`why.${source}`, {
    tier,
    size: size ?? '-',
    told: line.size ?? '-',
    edge: Math.max(width ?? 0, height ?? 0),
  })
}

/** A quantity of a unit at its own or its parent's price, times the factors in the reason. */
function tUse({ rows }: BillingRecord['rule'], { tier, source, quantity, why }: Line): string {
  const row = rowOf(rows, tier)
  if (!row)
    return /: no price\b/.test(why)
      ? t('why.use.unpriced', { quantity: count(quantity ?? 0), unit: tName('unit', tier) })
      : why
  const each = shownExact(row.price)
  const price = row.per === 1 ? each : t('why.use.per', { price: each, per: perCount(row.per) })
  const values = { quantity: count(quantity ?? 0), unit: tName('unit', tier), price }
  const inherited = row.tier === tier ? '' : t('why.use.inherited', { unit: tName('unit', row.tier) })
  const factors = [...why.matchAll(/ × [\d.]+/g)].slice(1).join('')
  return t(source === 'default' ? 'why.use.estimated' : 'why.use', values) + inherited + factors
}

/** The cost of a cached response, and the parts of its price. */
function tKept(why: string): string {
  if (why === '1 cached response, free') return t('why.kept.free')
  const sum = /^1 cached response: (.*)$/.exec(why)?.[1]
  return sum === undefined ? why : t('why.kept', { sum })
}

function rowOf(rows: BillingRecord['rule']['rows'], unit: string): BillingRecord['rule']['rows'][number] | undefined {
  const own = rows.find(one => one.tier === unit)
  const parent = units.get(unit)?.parent
  return own ?? (parent === undefined ? undefined : rowOf(rows, parent))
}

/** The rule of a cached response: the request that created it, and that request's cost. */
export function tKeptRule(text: string): string {
  const [, request, amount] = /^a cached response, made by (\S+) for (\S+)$/.exec(text) ?? []
  return request === undefined || amount === undefined
    ? text
    : t('bill.kept', { request, amount: groupNumbers(amount) })
}

/** The factors of a charge by usage: `group multiplier ×0.9, service tier flex ×0.5`. */
export function tFactors(factors: string): string {
  return factors.replace(/^group multiplier/, t('bill.multiplier'))
}

/** The reason for the end of a charge: a code of the gateway, or a person's text. */
export function tReason(reason: string): string {
  const [code = '', ...more] = reason.split(': ')
  const translated = tName('charge_reason', code)
  if (translated === code) return reason
  const named = code === 'unpriced' ? more.map(names => unitsText(names.split(', '))) : more
  return [translated, ...named].join(t('colon'))
}

function unitsText(names: readonly string[]): string {
  return names.map(name => tName('unit', name)).join(t('list.and'))
}

/** The reasons for a charge, each once, with the number of its items. */
export function reasonsOf(of: BillingRecord): readonly (readonly [reason: string, lines: number])[] {
  return [...Map.groupBy(of.lines, line => tWhy(of, line))].map(([reason, { length }]) => [reason, length] as const)
}
