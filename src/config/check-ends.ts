import { isDerived, type Model } from '../domain/index.ts'
import type { Report } from './report.ts'

const dayMs = 86_400_000
const warnedMs = 60 * dayMs

/**
 * Reports models that their vendor ends within 60 days of `now`, or has ended. They are served as long as the vendor
 * serves them.
 */
export function noteEnds(models: ReadonlyMap<string, Model>, now: number, report: Report): void {
  for (const model of models.values()) {
    const { name, ends, enabled } = model
    // End dates of names that only a table has are for the clients that use them: they get a header.
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
