import {
  type BudgetStatus,
  budgetView,
  forecastOf,
  paceOf,
  quarterMs,
  spellOf,
  budgetStatuses,
  listBudgetStatuses,
  type User,
} from '../../domain/index.ts'
import { formatMoney, parseMoney } from '../../util/index.ts'
import { balanceAnswer, budgetsAnswer, topUpAnswer } from '../answers.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { refusalsOf } from '../budget-refusals.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { ownerOf, sessionUserOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'
import { decimal } from '../../domain/shapes/schemas.ts'

type Found = {
  readonly budgets: readonly BudgetStatus[]
  /** The number of all end users; `budgets` contains only as many as a list shows. */
  readonly endUsers: number
  /** The names of keys by their ids. */
  readonly names: ReadonlyMap<string, string>
}

/**
 * The states of all budgets, or of those that apply to one user: those of their keys, of the user, of their groups, and
 * of their end users.
 * @param called the name of the only end user to read
 */
async function readBudgets(
  parts: AdminRequest['parts'],
  owner: string | undefined,
  called: string | undefined,
): Promise<Found> {
  const { storage, clock } = parts
  const plan = parts.plan()
  const [users, keys] = await Promise.all([
    owner === undefined ? storage.users.list() : findUser(storage, owner),
    storage.keys.list({ ownRules: true, ...(owner !== undefined && { user: owner }) }),
  ])
  const list = await listBudgetStatuses(storage.books, { plan, users, keys, now: clock.now(), owner, called })
  const { above, shown, endUsers } = list
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  if (owner === undefined) return { endUsers, names, budgets: [...above, ...shown] }
  const groups = new Set([
    ...users.flatMap(({ name, group }) => (name === owner ? [group] : [])),
    ...keys.flatMap(({ status, group, userGroup }) => (status === 'revoked' ? [] : [group ?? userGroup])),
  ])
  const theirs = above.filter(({ level, name, user }) => (level === 'group' ? groups.has(name) : user === owner))
  return { endUsers, names, budgets: [...theirs, ...shown] }
}

async function findUser({ users }: AdminRequest['parts']['storage'], name: string): Promise<readonly User[]> {
  const user = await users.find(name)
  return user ? [user] : []
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
      },
    },
    answer: budgetsAnswer,
    async handle(request) {
      const own = ownerOf(request)
      const { user, end_user: endUser } = request.query
      if (own !== undefined && user !== undefined && user !== own) throw fail('forbidden', {}, { param: 'user' })
      const owner = own ?? user
      const { budgets: seen, endUsers, names } = await readBudgets(request.parts, owner, endUser)
      const { timeZone, currency } = request.parts.plan()
      const now = request.parts.clock.now()
      const [month, { events }] = await Promise.all([
        sumMonth(request, owner, timeZone, now),
        request.parts.storage.watch.alerts(),
      ])
      const refusals = refusalsOf(events, seen, now)
      const budgets = seen.map(status => {
        const { level, name, per, spent } = status
        const pace = paceOf(per, now, timeZone)
        const forecast = pace ? forecastOf(spent, pace, now) : null
        const refused = refusals.get(status)
        return {
          ...budgetView.show(status),
          called: level === 'key' ? (names.get(name) ?? null) : null,
          forecast: forecast === null ? null : formatMoney(forecast),
          refused_since: refused === undefined ? null : toMoment(refused),
        }
      })
      return { currency, budgets, end_users: endUsers, month }
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
      properties: { amount: { type: 'string', pattern: decimal }, note: { type: 'string', maxLength: 500 } },
    },
    answer: topUpAnswer,
    status: 201,
    async handle(request) {
      const { parts, body, params } = request
      const amount = parseMoney(body.amount) ?? 0
      if (amount === 0) throw refuse('invalid', 'amount', {}, { param: 'amount' })
      const by = sessionUserOf(request).user.name
      const made = await parts.storage.users.topUp(params['name'] ?? '', amount, body.note ?? null, by)
      if (!made) throw fail('not_found')
      return showTopUp(made)
    },
  }),
]

/** The spending of this month so far after refunds, and the estimate for the whole month at that rate. */
async function sumMonth({ parts }: AdminRequest, owner: string | undefined, zone: string, now: number) {
  const month = spellOf('month', now, zone)
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
