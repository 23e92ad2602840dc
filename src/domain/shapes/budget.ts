import { type BudgetPeriod, splitPeriod } from '../budget-period.ts'
import { levelKinds } from '../budget.ts'
import type { Micros } from '../../util/units.ts'
import { money, momentOrNull, oneOf, text, textOrNull } from './member.ts'
import * as schemas from './schemas.ts'
import { computed, shownOf, viewOf } from './view.ts'

const members = {
  level: oneOf('level', ['key', ...levelKinds]),
  /** The id of a key, the name of an end user, a user or a group. */
  name: text('name'),
  user: textOrNull('user'),
  amount: money('amount'),
  spent: money('spent'),
  held: money('held'),
  left: money('left'),
  renews: momentOrNull('renews'),
} as const

/** The state of a budget at some moment. */
export type BudgetStatus = {
  readonly level: 'key' | (typeof levelKinds)[number]
  readonly name: string
  /** Its owner; null for a group's budget. */
  readonly user: string | null
  readonly amount: Micros
  readonly per: BudgetPeriod
  /** It only reports: nothing is refused. */
  readonly soft: boolean
  /** In the current period. */
  readonly spent: Micros
  readonly held: Micros
  /** Never negative. */
  readonly left: Micros
  /**
   * The time when it renews, or when the earliest day of a rolling budget drops out; null for a budget that does not
   * renew.
   */
  readonly renews: number | null
}

const own = shownOf(members, (status: BudgetStatus) => status)

/** The JSON form of a budget in the API and on the command line. */
export const budgetView = viewOf<BudgetStatus>()({
  level: own('level', 'key, end_user (an end user of a user), user, balance (the top-ups of a user) or group.'),
  name: own('name', 'ID of the key, or name of the end user, user or group.'),
  user: own('user', 'Owner of the budget. Null for the budget of a group.'),
  amount: own('amount'),
  per: computed(schemas.period, ({ per }: BudgetStatus) => splitPeriod(per).per),
  resets_on: computed(schemas.resetsOnOrNull, ({ per }: BudgetStatus) => splitPeriod(per).resetsOn),
  soft: computed(
    { ...schemas.truth, description: 'Whether the budget only reports its spending and refuses no request.' },
    (status: BudgetStatus) => status.soft,
  ),
  spent: own('spent', 'Amount spent in the current period, as a decimal.'),
  held: own('held', 'Amount held for requests in progress and for charges that need review, as a decimal.'),
  left: own('left'),
  renews: own(
    'renews',
    'Time of the next renewal. For the last days, such as 7d: the time when the earliest day no longer counts. Null for a budget that never renews.',
  ),
})
