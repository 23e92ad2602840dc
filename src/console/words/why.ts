import type { BillingRecord } from '../api/shapes.ts'
import { language, t } from './index.ts'

type Line = BillingRecord['lines'][number]

/** Why a line has its tier; in the gateway's own words where they are the reader's. */
export function tWhy({ size, rule }: Pick<BillingRecord, 'size' | 'rule'>, line: Line): string {
  const { tier, source, width, height, quantity, flags, why } = line
  if (language.value === 'en' || rule.kind !== 'tiers') return why
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

/** The reasons of a charge, each once, and of how many lines it is. */
export function reasonsOf(of: BillingRecord): readonly (readonly [reason: string, lines: number])[] {
  return [...Map.groupBy(of.lines, line => tWhy(of, line))].map(([reason, { length }]) => [reason, length] as const)
}
