import { periodStartsAt, type LevelKind } from '../../domain/budget.ts'
import { insertRows } from '../insert-rows.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { findRefunds } from '../charge-batches/find.ts'
import { ChargeBatchWalk } from '../charge-batches/walk.ts'
import { mainPart } from './levels.ts'

/** Rows of one statement. */
const together = 1_000
const columns = ['kind', 'name', 'part', 'spent', 'held', 'day_start', 'day_spent', 'month_start', 'month_spent']

type Sum = { spent: number; day: number; daySpent: number; month: number; monthSpent: number }

/** What users and groups have spent, from charges before they had accounts; days and months are in UTC. */
export function* openAccounts(): QueryProgram<void> {
  const sums = new Map<string, Sum>()
  yield* addRows(sums)
  yield* addBatches(sums)
  const rows = [...sums].map(([account, { spent, day, daySpent, month, monthSpent }]) => {
    const [kind = '', name = ''] = splitOnce(account)
    const own = { kind, name, part: mainPart, spent, held: 0 }
    return { ...own, day_start: day, day_spent: daySpent, month_start: month, month_spent: monthSpent }
  })
  yield* insertRows('account', columns, rows)
}

function* addRows(sums: Map<string, Sum>): QueryProgram<void> {
  for (let after = ''; ; ) {
    const rows = yield ask(
      `SELECT id, user_name, group_name, ended_at, amount - coalesce((SELECT sum(e.amount) FROM entry e
         WHERE e.charge_id = charge.id AND e.kind = 'refund'), 0) AS spent
       FROM charge WHERE id > ? AND state = 'settled' ORDER BY id LIMIT ${together}`,
      after,
    )
    for (const row of rows)
      add(sums, text(row, 'user_name'), text(row, 'group_name'), whole(row, 'spent'), whole(row, 'ended_at'))
    const last = rows.at(-1)
    if (!last) return
    after = text(last, 'id')
  }
}

function* addBatches(sums: Map<string, Sum>): QueryProgram<void> {
  const walk = new ChargeBatchWalk('')
  for (;;) {
    const some = yield* walk.next()
    if (some.length === 0) return
    const refunds = yield* findRefunds(some.map(({ id }) => id))
    for (const { id, payer, amount, at } of some)
      add(sums, payer.user_name, payer.group_name, amount - (refunds.get(id) ?? 0), at)
  }
}

function add(sums: Map<string, Sum>, user: string, group: string, spent: number, at: number): void {
  addTo(sums, 'user', user, spent, at)
  addTo(sums, 'group', group, spent, at)
}

function addTo(sums: Map<string, Sum>, kind: LevelKind, name: string, spent: number, at: number): void {
  const { day, month } = periodStartsAt(at, 'UTC')
  const sum = sums.get(`${kind} ${name}`) ?? { spent: 0, day, daySpent: 0, month, monthSpent: 0 }
  if (day > sum.day) Object.assign(sum, { day, daySpent: 0 })
  if (month > sum.month) Object.assign(sum, { month, monthSpent: 0 })
  sum.spent += spent
  if (day === sum.day) sum.daySpent += spent
  if (month === sum.month) sum.monthSpent += spent
  sums.set(`${kind} ${name}`, sum)
}

function splitOnce(account: string): readonly string[] {
  const at = account.indexOf(' ')
  return [account.slice(0, at), account.slice(at + 1)]
}
