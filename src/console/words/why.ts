import type { BillingRecord } from '../api/shapes.ts'
import { language, t, tName } from './index.ts'

type Line = BillingRecord['lines'][number]

/** Why a line has its tier; in the gateway's own words where they are the reader's. */
export function tWhy({ size, rule }: Pick<BillingRecord, 'size' | 'rule'>, line: Line): string {
  const { tier, source, width, height, quantity, flags, why } = line
  if (language.value === 'en') return why
  if (tier === 'decided') return t('why.decided', { reason: /^decided by a person: (.*)$/s.exec(why)?.[1] ?? '–' })
  if (rule.kind === 'usage') return tUse(rule, line)
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

/** So much of a unit at its price, times the multiplier where there is one. */
function tUse({ rows, multiplier }: BillingRecord['rule'], { tier, source, quantity, why }: Line): string {
  const row = rows.find(one => one.tier === tier)
  if (!row) return why
  const factor = multiplier.includes('×') ? multiplier.slice(multiplier.lastIndexOf('×') + 1) : '1'
  const price = row.per === 1_000_000 ? t('why.use.million', { price: row.price }) : row.price
  const values = { quantity: quantity ?? 0, unit: tName('unit', tier), price }
  return t(source === 'default' ? 'why.use.estimated' : 'why.use', values) + (factor === '1' ? '' : ` × ${factor}`)
}

/** Why a charge ended as it did: a code of the gateway's, or what a person wrote. */
export function tReason(reason: string): string {
  const [code = '', ...more] = reason.split(': ')
  const told = tName('charge_reason', code)
  return told === code ? reason : [told, ...more].join(t('colon'))
}

/** The reasons of a charge, each once, and of how many lines it is. */
export function reasonsOf(of: BillingRecord): readonly (readonly [reason: string, lines: number])[] {
  return [...Map.groupBy(of.lines, line => tWhy(of, line))].map(([reason, { length }]) => [reason, length] as const)
}
