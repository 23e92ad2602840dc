import { shiftPoint, toDecimal, toPrice } from './decimals.ts'
import type { Tracked } from './tracked.ts'
import { periodOfLength } from './litellm-period.ts'
import { writeMap } from './yaml-words.ts'

/**
 * The budgets of the whole gateway and of each of its users, as lines of its group `default`, which is its only one where
 * the file is all that is imported; what has no length here is left.
 */
export function readBudgets(settings: Tracked): { readonly group: string; readonly isCapped: boolean } {
  // There, 0 is no cap of the whole gateway; here it would let nothing through.
  const isOff = settings.takeAs(
    'max_budget',
    value => (toDecimal(value) !== undefined && Number(value) === 0) || undefined,
  )
  if (isOff) settings.take('budget_duration')
  const all = isOff ? undefined : budgetIn(settings, 'max_budget', 'budget_duration')
  const user = settings.in('default_internal_user_params')
  const own = budgetIn(user, 'max_budget', 'budget_duration')
  const group = writeMap([
    ['budget', all],
    ['user_budget', own ?? budgetIn(settings, 'max_internal_user_budget', 'internal_user_budget_duration')],
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
  // What was spent of a longer one is not in the file.
  return period === 'total' ? undefined : period
}

function amountOf(value: unknown): string | undefined {
  const decimal = toDecimal(value)
  return decimal === undefined ? undefined : toPrice(shiftPoint(decimal, 0))
}
