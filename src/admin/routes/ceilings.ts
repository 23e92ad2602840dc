import { budgetOfUser, showPeriod } from '../../domain/index.ts'
import { formatMoney } from '../../util/index.ts'
import { showUserBounds } from '../../domain/shapes/bounds.ts'
import { showLimits } from '../../domain/shapes/limits.ts'
import { ceilingsAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { may } from '../duties.ts'
import { fail } from '../errors.ts'
import { ownerOf } from '../session-user.ts'

/** The source of a setting: the user, or the group if the user has none. */
function setFor(own: number | null): 'user' | 'group' {
  return own === null ? 'group' : 'user'
}

export const ceilingRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/users/:name/ceilings',
    access: 'user',
    summary: 'Get the ceilings of a user and of their group. Users who cannot read everything get only their own.',
    answer: ceilingsAnswer,
    async handle(request) {
      const { parts, params } = request
      const name = params['name'] ?? ''
      const owner = ownerOf(request)
      const user = owner === undefined || owner === name ? await parts.storage.users.find(name) : undefined
      if (!user) throw fail('not_found')
      const plan = parts.plan()
      const group = plan.groups.get(user.group)
      const keys = await parts.storage.keys.list({ user: name })
      const budget = budgetOfUser(user, group)
      // Keys that administrators create have no bounds.
      const isBound = !may(user, 'admin')
      const most = isBound ? (user.keysMax ?? group?.keysMax ?? null) : null
      return {
        user: name,
        group: user.group,
        currency: plan.currency,
        keys: {
          have: keys.filter(({ status }) => status !== 'revoked').length,
          most,
          by: most === null ? null : setFor(user.keysMax),
        },
        key_bounds: isBound ? showUserBounds(user.keyBounds) : {},
        budget:
          budget && !budget.soft
            ? { amount: formatMoney(budget.amount), ...showPeriod(budget.per), by: setFor(user.budget) }
            : null,
        limits: showLimits(group?.limits ?? {}),
        limit_scope: group?.limitScope ?? 'key',
        limits_per_user: showLimits(group?.limitsPerUser ?? {}),
      }
    },
  }),
]
