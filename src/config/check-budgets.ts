import { joinPeriod, resetChoices } from '../domain/index.ts'
import type { Settings } from './build.ts'
import type { Report } from './report.ts'

/** Refuses a first day that the period of a budget cannot have. */
export function checkBudgets(settings: unknown, report: Report): void {
  if (report.broken(['groups'])) return
  const { groups } = (settings ?? {}) as Partial<Settings>
  for (const [name, group] of Object.entries(groups ?? {}))
    for (const member of ['budget', 'user_budget'] as const) {
      const budget = group[member]
      if (!budget || joinPeriod(budget.per, budget.resets_on) !== undefined) continue
      const message = `found resets_on ${budget.resets_on} with 'per: ${budget.per}'`
      report.atValue(['groups', name, member, 'resets_on'], {
        code: 'reset_day',
        message,
        remedy: `write ${resetChoices}`,
      })
    }
}
