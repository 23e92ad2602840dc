import { isDerived, type Model } from '../domain/index.ts'
import type { Report } from './report.ts'

const dayMs = 86_400_000
const warnedMs = 60 * dayMs

/**
 * Reports models that their vendor ends within 60 days of `now`, or has already ended. The gateway serves them for as
 * long as the vendor does.
 */
export function noteModelEnds(models: ReadonlyMap<string, Model>, now: number, report: Report): void {
  for (const model of models.values()) {
    const { name, ends, enabled } = model
    // Names that exist only in a table concern the clients that use them, which get the end date in a header.
    if (!ends || !enabled || isDerived(model) || ends.at - now > warnedMs) continue
    const days = Math.ceil((ends.at - now) / dayMs)
    const message =
      days > 0
        ? `'${name}' ends in ${days} ${days === 1 ? 'day' : 'days'}: its vendor no longer serves it`
        : `'${name}' has ended: its vendor no longer serves it`
    const remedy =
      days > 0
        ? 'inform its users, and offer them another model before that day'
        : 'remove it, set enabled: false, or use send_as to serve its name with another model'
    report.atValue(['models', name, 'ends'], {
      severity: 'note',
      code: days > 0 ? 'model_ends' : 'model_ended',
      message,
      remedy,
    })
  }
}
