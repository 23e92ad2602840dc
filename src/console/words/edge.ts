import { t } from './index.ts'

/** The long edges of a tier: up to `max` pixels, or more than the `largest` of the other tiers. */
export function tEdge(max: number | null, largest: number): string {
  if (max !== null) return `≤\u00a0${max}\u00a0px`
  return largest === 0 ? t('any') : t('bill.beyond', { edge: largest })
}
