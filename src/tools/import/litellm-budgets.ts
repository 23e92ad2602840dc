import { shiftPoint, toDecimal, toPrice } from './decimals.ts'
import type { Tracked } from './tracked.ts'
import { periodOfLength } from './litellm-period.ts'
import { writeMap } from './yaml-words.ts'

/**
 * The budgets of the whole gateway and of each of its users, as lines of the group `default`, which is the only group
 * if just the file is imported; leaves out budgets whose length has no equivalent here.
 * @param hasUsers users are imported, with their own budgets: in LiteLLM the file's budget is for users created later,
 * and here it would also bound those without one
 */
export function readBudgets(
  settings: Tracked,
  hasUsers: boolean,
): { readonly group: string; readonly isCapped: boolean } {
  // In LiteLLM, 0 means no limit of the whole gateway; here it would refuse everything.
  const isOff = settings.takeAs(
    'max_budget',
    value => (toDecimal(value) !== undefined && Number(value) === 0) || undefined,
  )
  if (isOff) settings.take('budget_duration')
  const all = isOff ? undefined : budgetIn(settings, 'max_budget', 'budget_duration')
  const user = settings.in('default_internal_user_params')
  const ofUser = hasUsers
    ? undefined
    : (budgetIn(user, 'max_budget', 'budget_duration') ??
      budgetIn(settings, 'max_internal_user_budget', 'internal_user_budget_duration'))
  const group = writeMap([
    ['budget', all],
    ['user_budget', ofUser],
  ])
  return { group, isCapped: all !== undefined }
}

function budgetIn(section: Tracked, amountKey: string, durationKey: string): string | undefined {
  if (!section.has(amountKey)) return undefined
  const per = section.has(durationKey) ? section.takeAs(durationKey, periodOf) : 'total'
  if (per === undefined) return undefined
  const amount = section.takeAs(amountKey, amountOf)
  return amount === undefined
    ? undefined
    : writeMap([
        ['amount', JSON.stringify(amount)],
        ['per', per],
      ])
}

function periodOf(value: unknown): string | undefined {
  const period = typeof value === 'string' ? periodOfLength(value) : undefined
  // The file does not contain the spending of a longer period.
  return period === 'total' ? undefined : period
}

function amountOf(value: unknown): string | undefined {
  const decimal = toDecimal(value)
  return decimal === undefined ? undefined : toPrice(shiftPoint(decimal, 0))
}
