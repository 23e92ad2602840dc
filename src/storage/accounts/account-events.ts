import { type BudgetPeriod, isWindow } from '../../domain/budget-period.ts'
import { userOfLevel } from '../../domain/levels.ts'
import { periodNow, spentInWindow, windowParams } from '../keys/spend.ts'
import { ask, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, textOrNull, whole, wholeOrNull } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { writeBudgetEvents } from './budget-events.ts'
import type { HeldBudget } from './held-budgets.ts'
import { spentOfWindow } from './hold.ts'
import { mainPart } from './levels.ts'

type EventTerms = Pick<WriterIdentity, 'zone' | 'thresholds'>

/** A budget that a charge was held from, and its owner. */
export type Watched = HeldBudget & { readonly name: string; readonly currency: string }

/** Writes events of a key's budget, if it has one: from its row with `foundColumns`, in its current state. */
export function* writeKeyEvents(
  identity: EventTerms,
  [key]: Rows,
  currency: string,
  at: number,
  refused?: 'refused',
): QueryProgram<void> {
  if (!key) return
  const amount = wholeOrNull(key, 'budget')
  if (amount === null) return
  const [name, user, per] = [text(key, 'id'), text(key, 'user_name'), text(key, 'budget_period') as BudgetPeriod]
  const start = periodNow(identity, per, startsOf(key), at)
  const spent = yield* spentOf(identity, key, per, start, at)
  const own = {
    held: whole(key, 'held'),
    sent: textOrNull(key, 'budget_told'),
    isRefused: refused !== undefined,
    isSoft: whole(key, 'budget_soft') === 1,
  }
  yield* writeBudgetEvents(identity, { level: 'key', name, user, currency, amount, per, start, spent, ...own }, at)
}

const startsOf = (row: Row) => ({ day: whole(row, 'day_start'), month: whole(row, 'month_start') })

/** The spending of a key in the period that begins with `start`. */
function* spentOf(identity: EventTerms, key: Row, per: BudgetPeriod, start: number, at: number): QueryProgram<number> {
  if (per === 'total') return whole(key, 'spent')
  // 0 if its row is for an earlier day or month.
  if (!isWindow(per)) return whole(key, `${per}_start`) === start ? whole(key, `${per}_spent`) : 0
  const sql = `SELECT ${spentInWindow} AS spent FROM key WHERE id = ?`
  const [row] = yield ask(sql, ...windowParams(identity, per, at), text(key, 'id'))
  return row ? whole(row, 'spent') : 0
}

/** Writes events of the budgets that charges were held from, by the rows that `moveBounded` returned. */
export function* writeAccountEvents(
  identity: EventTerms,
  moved: Rows,
  watched: readonly Watched[],
  at: number,
): QueryProgram<void> {
  const budgets = new Map(watched.map(one => [`${one.kind} ${one.name} ${one.amount} ${one.per} ${one.soft}`, one]))
  for (const row of moved) {
    if (text(row, 'part') !== mainPart) continue
    for (const { kind, name, amount, per, soft, currency } of budgets.values()) {
      if (text(row, 'kind') !== kind || text(row, 'name') !== name) continue
      const user = userOfLevel({ kind, name })
      const start = periodNow(identity, per, startsOf(row), at)
      const spent = isWindow(per) ? yield* spentOfWindow(identity, { kind, name, per }, at) : whole(row, per)
      const own = { spent, held: whole(row, 'held'), sent: textOrNull(row, 'budget_told') }
      yield* writeBudgetEvents(
        identity,
        { level: kind, name, user, currency, amount, per, start, ...own, isRefused: false, isSoft: soft === true },
        at,
      )
    }
  }
}
