import type { StatementBalance } from '../../domain/index.ts'
import { cash } from '../accounts/top-up.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'

type Writable<T> = { -readonly [N in keyof T]: T[N] }

/** Whether a booking was before, in or after a span. Its two parameters are the bounds of the span. */
const part = `CASE WHEN e.created_at < ? THEN 'before' WHEN e.created_at < ? THEN 'within' ELSE 'after' END`

const topUps = `SELECT e.credit AS account, 'topup' AS kind, ${part} AS part, count(*) AS count, sum(e.amount) AS amount
  FROM topup e WHERE e.debit = ? GROUP BY 1, 3`
/** The levels of a charge show whether it was held from a balance; those in charge batches have no hold. */
const taken = `SELECT 'balance:' || c.user_name AS account, e.kind AS kind, ${part} AS part, count(*) AS count, sum(e.amount) AS amount
  FROM charge c JOIN entry e ON e.charge_id = c.id
  WHERE c.levels LIKE '%balance%' AND e.kind IN ('settle', 'refund') GROUP BY 1, 2, 3`
/** The entries and the account of an erased user have the earlier name. */
const booked = `SELECT 'balance:' || coalesce(u.booked_as, u.name) AS account, u.group_name,
    u.balance - coalesce((SELECT sum(a.spent) FROM account a
      WHERE a.kind = 'balance' AND a.name = coalesce(u.booked_as, u.name)), 0) AS balance
  FROM "user" u WHERE u.balance IS NOT NULL`

/**
 * Prepaid balances before, in and after a span, from the entries; and the current remainder, from the entries and from
 * the accounts. Must run on one snapshot.
 */
export function* sumBalances({
  from,
  until,
}: {
  readonly from: number
  readonly until: number
}): QueryProgram<readonly StatementBalance[]> {
  const found = new Map<string, Writable<StatementBalance>>()
  const balanceOf = (row: Row): Writable<StatementBalance> => {
    const account = text(row, 'account')
    const user = account.slice('balance:'.length)
    let balance = found.get(user)
    if (!balance) {
      const none = { opening: 0, topUps: 0, toppedUp: 0, charged: 0, refunded: 0, closing: 0, counted: 0, booked: 0 }
      found.set(user, (balance = { user, group: '', ...none }))
    }
    return balance
  }
  for (const row of yield ask(booked)) {
    const balance = balanceOf(row)
    balance.group = text(row, 'group_name')
    balance.booked = whole(row, 'balance')
  }
  for (const row of yield ask(topUps, from, until, cash)) add(balanceOf(row), row)
  for (const row of yield ask(taken, from, until)) add(balanceOf(row), row)
  return [...found.values()]
    .map(one => ({ ...one, closing: one.opening + one.toppedUp + one.refunded - one.charged }))
    .sort((a, b) => (a.user < b.user ? -1 : 1))
}

function add(balance: Writable<StatementBalance>, row: Row): void {
  const [kind, amount] = [text(row, 'kind'), whole(row, 'amount')]
  const change = kind === 'settle' ? -amount : amount
  balance.counted += change
  if (row['part'] === 'before') balance.opening += change
  if (row['part'] !== 'within') return
  if (kind === 'settle') balance.charged += amount
  else if (kind === 'refund') balance.refunded += amount
  else {
    balance.topUps += whole(row, 'count')
    balance.toppedUp += amount
  }
}
