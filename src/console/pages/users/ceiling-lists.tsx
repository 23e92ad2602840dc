import type { Group, User } from '../../api/shapes.ts'
import { t } from '../../words/index.ts'
import { tBound, tBounds } from '../../words/bound.ts'
import { limitText } from '../tokens/key-drawer.tsx'

/** The bounds of a user, in a cell of a table; null if there are none. */
export function userCeilings(of: User, currency: string) {
  const lines = [
    ...(of.keys_max === null ? [] : [tBound('keys_max', { keys: of.keys_max })]),
    ...(of.budget === null || of.budget_soft
      ? []
      : [tBound('budget', { amount: of.budget, currency, per: of.budget_period, resets_on: of.budget_resets_on })]),
    ...tBounds(of.key_bounds, currency).map(({ name, most }) => t('ceilings.own.each', { name, most })),
  ]
  return showLines(lines)
}

/** The configuration's limits for a group and for each of its users. */
export function groupCeilings(of: Group, currency: string) {
  const { keys_max, models, budget, user_budget, end_user_budget, limits_per_user, limits_in_all } = of
  const boundLine = (
    word: `group.${'models' | 'budget' | 'user_budget' | 'end_user_budget' | 'limits_per_user' | 'limits_in_all'}`,
    most: string,
  ) => (most === '' ? [] : [t(word, { most })])
  const lines = [
    ...(keys_max === null ? [] : [tBound('keys_max', { keys: keys_max })]),
    ...boundLine('group.models', models?.join(', ') ?? ''),
    ...(budget && !budget.soft ? boundLine('group.budget', tBound('budget', { ...periodOf(budget), currency })) : []),
    ...(user_budget && !user_budget.soft
      ? boundLine('group.user_budget', tBound('budget', { ...periodOf(user_budget), currency }))
      : []),
    ...(end_user_budget && !end_user_budget.soft
      ? boundLine('group.end_user_budget', tBound('budget', { ...periodOf(end_user_budget), currency }))
      : []),
    ...boundLine('group.limits_per_user', limitText(limits_per_user)),
    ...boundLine('group.limits_in_all', limitText(limits_in_all)),
  ]
  return showLines(lines)
}

const periodOf = ({ amount, per, resets_on }: NonNullable<Group['budget']>) => ({ amount, per, resets_on })

function showLines(of: readonly string[]) {
  if (of.length === 0) return null
  return (
    <ul class="bare">
      {of.map(line => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}
