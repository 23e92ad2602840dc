import { attributionSlot, joinPeriod, resetChoices, type ResetDay } from '../domain/index.ts'
import type { Settings } from './build.ts'
import type { Pipeline } from './pipeline.ts'
import type { Report } from './report.ts'

type BudgetSettings = { readonly per: string; readonly resets_on?: ResetDay }

/**
 * Rejects reset days that do not fit a budget's period, and budgets of end users in configurations without end users.
 */
export function checkBudgets(settings: unknown, { plugins }: Pick<Pipeline, 'plugins'>, report: Report): void {
  if (report.broken(['groups'])) return
  const { groups } = (settings ?? {}) as Partial<Settings>
  const namesEndUsers =
    report.broken(['pipeline']) ||
    plugins.values().some(({ gives = [] }) => gives.some(slot => slot.name === attributionSlot.name))
  for (const [name, group] of Object.entries(groups ?? {})) {
    for (const member of ['budget', 'user_budget', 'end_user_budget'] as const)
      checkDay(group[member], ['groups', name, member], report)
    for (const [who, budget] of Object.entries(group.end_user_budgets ?? {}))
      checkDay(budget, ['groups', name, 'end_user_budgets', who], report)
    if (namesEndUsers) continue
    for (const member of ['limits_per_end_user', 'end_user_budget', 'end_user_budgets'] as const)
      if (group[member])
        report.atKey(['groups', name, member], {
          code: 'end_users_unnamed',
          severity: 'warning',
          message: `'${member}' does nothing: no plugin of the pipeline says who the end user of a request is`,
          remedy: 'add the plugin attribution to the pipeline, with sources in end_user',
        })
  }
}

function checkDay(budget: BudgetSettings | undefined, path: readonly string[], report: Report): void {
  if (!budget || joinPeriod(budget.per, budget.resets_on) !== undefined) return
  const message = `found resets_on ${budget.resets_on} with 'per: ${budget.per}'`
  report.atValue([...path, 'resets_on'], { code: 'reset_day', message, remedy: `write ${resetChoices}` })
}
