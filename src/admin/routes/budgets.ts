import {
  type BudgetStatus,
  budgetView,
  forecastOf,
  paceOf,
  quarterMs,
  periodSpan,
  budgetStatuses,
  readBudgets,
} from '../../domain/index.ts'
import { formatMoney, parseMoney } from '../../util/index.ts'
import { balanceAnswer, budgetMonthAnswer, budgetsAnswer, topUpAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { refusalFinder } from '../budget-refusals.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { ownerOf, sessionUserOf } from '../session-user.ts'
import { decimal, optionalLimit } from '../schemas.ts'
import { toMoment } from '../to-moment.ts'
import { wholeList } from '../whole-list.ts'

type Named = {
  /** The name of a key; null for other levels. */
  readonly called: string | null
  /** The time since which the budget has refused requests. */
  readonly refused: number | undefined
}

/** A budget as the console shows it, with its place in the list. */
function showBudget(status: BudgetStatus, { called, refused }: Named, now: number, zone: string) {
  const pace = paceOf(status.per, now, zone)
  const forecast = pace ? forecastOf(status.spent, pace, now) : null
  return {
    order: orderOf(status, forecast, refused !== undefined),
    shown: {
      ...budgetView.show(status),
      called,
      forecast: forecast === null ? null : formatMoney(forecast),
      refused_since: refused === undefined ? null : toMoment(refused),
    },
  }
}

type ShownBudget = ReturnType<typeof showBudget>

/** Budgets, some at a time. `countEndUsers` gets the number of end users with a budget. */
async function* showBudgets(
  { parts }: AdminRequest,
  which: { readonly owner: string | undefined; readonly called: string | undefined },
  countEndUsers: (more: number) => void,
): AsyncGenerator<readonly ShownBudget[]> {
  const plan = parts.plan()
  const now = parts.clock.now()
  const { events } = await parts.storage.watch.alerts()
  const refusalOf = refusalFinder(events, now)
  for await (const { budgets, names, endUsers } of readBudgets(parts.storage, { plan, now, ...which })) {
    countEndUsers(endUsers)
    yield budgets.map(status => {
      const called = status.level === 'key' ? (names.get(status.name) ?? null) : null
      return showBudget(status, { called, refused: refusalOf(status) }, now, plan.timeZone)
    })
  }
}

/** From this share on, a budget is nearly spent. */
const nearShare = 0.8

/**
 * The place of a budget in a list of those nearest to exhaustion, the highest first: budgets that refuse requests, then
 * those nearly spent, then those that the forecast exceeds.
 */
function orderOf({ amount, left, soft }: BudgetStatus, forecast: number | null, refuses: boolean): number {
  const share = amount === 0 ? 1 : 1 - left / amount
  if (left === 0 || refuses) return share + (soft ? 30 : 40)
  if (share >= nearShare) return share + 20
  return forecast !== null && forecast > amount ? share + 10 : share
}

export const budgetRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/budgets',
    access: 'user',
    summary:
      'List budgets and balances. Administrators get all of them, others those that apply to them: of their API keys, their own, of their groups, and of their end users.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        user: { type: 'string', minLength: 1, maxLength: 64, description: 'Only budgets that apply to this user.' },
        end_user: { type: 'string', minLength: 1, maxLength: 256, description: 'Only budgets of this end user.' },
        limit: {
          ...optionalLimit,
          description: 'Maximum number of budgets, those nearest to exhaustion. Without it, all of them.',
        },
      },
    },
    answer: budgetsAnswer,
    async handle(request) {
      const own = ownerOf(request)
      const { user, end_user: called, limit } = request.query
      if (own !== undefined && user !== undefined && user !== own) throw fail('forbidden', {}, { param: 'user' })
      const owner = own ?? user
      const { currency } = request.parts.plan()
      const month = await sumMonth(request, owner)
      let [count, endUsers] = [0, 0]
      const pages = showBudgets(request, { owner, called }, more => (endUsers += more))
      const rest = () => ({ currency, count, end_users: endUsers, month })
      if (limit === undefined) {
        const all = async function* () {
          for await (const rows of pages) {
            count += rows.length
            yield rows.map(({ shown }) => shown)
          }
        }
        return wholeList(request, 'budgets', all(), rest)
      }
      let nearest: ShownBudget[] = []
      for await (const rows of pages) {
        count += rows.length
        nearest = [...nearest, ...rows].sort((a, b) => b.order - a.order).slice(0, limit)
      }
      return { budgets: nearest.map(({ shown }) => shown), ...rest() }
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/budgets/month',
    access: 'user',
    summary: 'Get the spending of this month and its forecast. Users who are not administrators get only their own.',
    answer: budgetMonthAnswer,
    async handle(request) {
      return { currency: request.parts.plan().currency, month: await sumMonth(request, ownerOf(request)) }
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/users/:name/balance',
    access: 'user',
    summary: 'Get the top-ups and the balance of a user. Users who are not administrators get only their own.',
    answer: balanceAnswer,
    async handle(request) {
      const { parts, params } = request
      const name = params['name'] ?? ''
      const owner = ownerOf(request)
      const user = owner === undefined || owner === name ? await parts.storage.users.find(name) : undefined
      if (!user) throw fail('not_found')
      const [sums, topUps] = await Promise.all([
        parts.storage.books.levels([{ kind: 'balance', name }]),
        parts.storage.users.topUps(name),
      ])
      const now = parts.clock.now()
      const [balance] = budgetStatuses({
        plan: { groups: new Map(), timeZone: parts.plan().timeZone },
        users: [{ ...user, budget: null }],
        keys: [],
        sums,
        now,
      })
      return {
        currency: parts.plan().currency,
        balance: balance ? budgetView.show(balance) : null,
        topups: topUps.map(showTopUp),
      }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/users/:name/topups',
    access: 'admin',
    summary: 'Top up the balance of a user. Later requests are charged to the balance.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['amount'],
      properties: {
        amount: { type: 'string', pattern: decimal },
        note: { type: 'string', maxLength: 500, pattern: '^[^\\u0000]*$' },
        paid_in: {
          type: 'string',
          pattern: decimal,
          description:
            'Expected total of earlier top-ups. If it differs, the response is a 409 and nothing is added. Send it so that a repeated request does not top up twice.',
        },
      },
    },
    answer: topUpAnswer,
    status: 201,
    async handle(request) {
      const { parts, body, params } = request
      const amount = parseMoney(body.amount) ?? 0
      if (amount === 0) throw refuse('invalid', 'amount', {}, { param: 'amount' })
      const by = sessionUserOf(request).user.name
      const expected = body.paid_in === undefined ? undefined : parseMoney(body.paid_in)
      const made = await parts.storage.users.topUp(params['name'] ?? '', amount, body.note ?? null, by, expected)
      if (!made) throw fail('not_found')
      if ('paidIn' in made) throw refuse('conflict', 'topup_since', { paid_in: formatMoney(made.paidIn) })
      return showTopUp(made)
    },
  }),
]

/** The spending of this month so far after refunds, and the estimate for the whole month at that rate. */
async function sumMonth({ parts }: AdminRequest, owner: string | undefined) {
  const { timeZone: zone } = parts.plan()
  const now = parts.clock.now()
  const month = periodSpan('month', now, zone)
  const until = Math.ceil((now + 1) / quarterMs) * quarterMs
  const where = owner === undefined ? {} : { user: owner }
  const question = { since: month.from, until, bars: [month.from], by: null, where }
  const { rows } = await parts.storage.journal.costs(question)
  return {
    since: toMoment(month.from),
    until: toMoment(month.until),
    zone,
    spent: rows.map(({ currency, amount, refunded }) => {
      const net = amount - refunded
      const forecast = forecastOf(net, month, now)
      return { currency, amount: formatMoney(net), forecast: forecast === null ? null : formatMoney(forecast) }
    }),
  }
}

function showTopUp({
  id,
  amount,
  at,
  by,
  note,
}: {
  readonly id: string
  readonly amount: number
  readonly at: number
  readonly by: string
  readonly note: string | null
}) {
  return { id, amount: formatMoney(amount), at: new Date(at).toISOString(), by, note }
}
