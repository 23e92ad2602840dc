import {
  type BudgetPeriod,
  isWindow,
  rollingOf,
  type PlainPeriod,
  type WindowPeriod,
} from '../../domain/budget-period.ts'
import { isAroundMidnight, renewalAt, type LevelKind, levelKinds } from '../../domain/budget.ts'
import { type Level, userOfLevel } from '../../domain/levels.ts'
import type { HoldResult } from '../../domain/stores.ts'
import { bounds, periodNow, windowParams } from '../keys/spend.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { textOrNull, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { type FoundBudget, writeBudgetEvents } from './budget-events.ts'
import { mainPart } from './levels.ts'
import { lockOne, spentBefore } from './move.ts'

/** The hold of a request, in micro-units of the currency, and its time. */
type Holding = { readonly amount: number; readonly currency: string; readonly at: number }
type Overdrawn = Extract<HoldResult, { kind: 'overdrawn' }>

/** The periods that differ in SQL: every window is a sum of days. */
type Spans = PlainPeriod | 'window'
const spansOf = (period: BudgetPeriod): Spans => (isWindow(period) ? 'window' : period)

/** The spending of an account's row in a window: on the day of the row, and on earlier ones. */
export const spentInWindow = (account: string): string =>
  `CASE WHEN ${account}.day_start BETWEEN ? AND ? THEN ${account}.day_spent ELSE 0 END
    + coalesce((SELECT sum(s.spent) FROM account_spell s WHERE s.kind = ${account}.kind AND s.name = ${account}.name
      AND s.part = ${account}.part AND s.period = 'day' AND s.start BETWEEN ? AND ?
      AND s.start <> ${account}.day_start), 0)`

/** The spending of an account's row in the current period, as SQL. */
export const spentNow = (account: string, period: Spans): string =>
  period === 'window'
    ? spentInWindow(account)
    : period === 'total'
      ? `${account}.spent`
      : `CASE WHEN ${account}.${period}_start BETWEEN ? AND ? THEN ${account}.${period}_spent
        ELSE ${spentBefore(period, account, '?')} END`

/** The spending of an account in the current period, over all its rows; `periodParams` are its parameters. */
const spentOfAll = (period: Spans): string =>
  `(${spentNow('account', period)} + coalesce((SELECT sum(${spentNow('p', period)}) FROM account p
        WHERE p.kind = account.kind AND p.name = account.name AND p.part > ''), 0))`

/** The rest of a budget whose amount is the first parameter; those of `periodParams` follow. */
const left = (kind: LevelKind, period: Spans): string => {
  // The books record the payments, not the client's key.
  const amount =
    kind === 'balance' ? '(SELECT coalesce(balance, 0) FROM "user" WHERE "user".name = ?)' : 'CAST(? AS BIGINT)'
  return `(${amount} - account.held - ${spentOfAll(period)})`
}

/** Columns of an account that the events of its budget need. */
const found = (period: Spans): string => `held, budget_told, ${spentOfAll(period)} AS spent_now, day_start, month_start`

const holdOne = (kind: LevelKind, period: Spans): string =>
  `UPDATE account SET held = held + ? WHERE kind = ? AND name = ? AND part = '' AND ${left(kind, period)} >= ?
   RETURNING ${found(period)}`
/** A soft budget is counted and never too small. */
const holdSoft = (period: Spans): string =>
  `UPDATE account SET held = held + ? WHERE kind = ? AND name = ? AND part = '' RETURNING ${found(period)}`
const explain = (kind: LevelKind, period: Spans): string =>
  `SELECT ${left(kind, period)} AS available, ${found(period)} FROM account WHERE kind = ? AND name = ? AND part = ''`
const sumOfWindow = `SELECT coalesce(sum(${spentInWindow('account')}), 0) AS spent FROM account
  WHERE kind = ? AND name = ?`
const makeOne = `INSERT INTO account (kind, name, part) VALUES (?, ?, '') ON CONFLICT (kind, name, part) DO NOTHING`

/**
 * Takes a hold from the budgets of a request's levels, in the common lock order. If a budget is too small, returns it
 * and holds nothing. The statement that moves an account also tests it.
 */
export function* holdLevels(
  identity: WriterIdentity,
  levels: readonly Level[],
  hold: Holding,
): QueryProgram<Overdrawn | undefined> {
  const ordered = [...levels].sort((a, b) => levelKinds.indexOf(a.kind) - levelKinds.indexOf(b.kind))
  for (const [held, level] of ordered.entries()) {
    const refusal = yield* holdLevel(identity, level, hold)
    if (!refusal) continue
    for (const { kind, name } of ordered.slice(0, held)) yield releaseLevel(kind, name, hold.amount)
    return refusal
  }
  return undefined
}

/** Releases a hold of an account. */
export function releaseLevel(kind: LevelKind, name: string, hold: number) {
  return ask(
    `UPDATE account SET held = held - ? WHERE kind = ? AND name = ? AND part = '${mainPart}'`,
    hold,
    kind,
    name,
  )
}

function* holdLevel(identity: WriterIdentity, level: Level, hold: Holding): QueryProgram<Overdrawn | undefined> {
  const { kind, name, per, amount, soft, called } = level
  const { at } = hold
  const bound = kind === 'balance' ? name : amount
  const period = periodParams(identity, per, at)
  const spans = spansOf(per)
  // Reads rows that others change around midnight after they have committed. The first charge of a day moves the
  // previous day to other rows: a window reads both after that.
  if (spans === 'window' || (per !== 'total' && isAroundMidnight(at, identity.zone))) yield ask(lockOne, kind, name)
  const [held] = soft
    ? yield ask(holdSoft(spans), hold.amount, kind, name, ...period)
    : yield ask(holdOne(kind, spans), hold.amount, kind, name, bound, ...period, hold.amount, ...period)
  if (held) {
    // Charges without a hold may have exceeded the budget, or its amount was lowered.
    yield* writeBudgetEvents(identity, foundIn(identity, held, level, hold, false), at)
    return undefined
  }
  if (soft) {
    // The account had no hold before.
    yield ask(makeOne, kind, name)
    return yield* holdLevel(identity, level, hold)
  }
  const [row] = yield ask(explain(kind, spans), bound, ...period, ...period, kind, name)
  if (!row) yield ask(makeOne, kind, name)
  const availableMicros = row ? Math.max(0, whole(row, 'available')) : Infinity
  // The account had no hold before, or one was released between the two statements.
  if (!row || availableMicros >= hold.amount) return yield* holdLevel(identity, level, hold)
  yield* writeBudgetEvents(identity, foundIn(identity, row, level, hold, true), at)
  const heldMicros = whole(row, 'held')
  const renewsAt = renewalAt(per, at, identity.zone)
  const whose = { level: kind, ...(called !== undefined && { called }) }
  return { kind: 'overdrawn', ...whose, availableMicros, heldMicros, renewsAt, ...rollingOf(per) }
}

function foundIn(
  identity: WriterIdentity,
  row: Row,
  { kind, name, amount, per, soft }: Level,
  { at, currency }: Holding,
  isRefused: boolean,
): FoundBudget {
  const user = userOfLevel({ kind, name })
  const [spent, held, sent] = [whole(row, 'spent_now'), whole(row, 'held'), textOrNull(row, 'budget_told')]
  const start = periodNow(identity, per, { day: whole(row, 'day_start'), month: whole(row, 'month_start') }, at)
  return { level: kind, name, user, currency, amount, per, start, spent, held, sent, isRefused, isSoft: soft === true }
}

/** The spending of an account in the current window. */
export function* spentOfWindow(
  identity: Pick<WriterIdentity, 'zone'>,
  { kind, name, per }: { readonly kind: LevelKind; readonly name: string; readonly per: WindowPeriod },
  at: number,
): QueryProgram<number> {
  const params = windowParams(identity, per, at)
  const [row] = yield ask(sumOfWindow, ...params, kind, name)
  return row ? whole(row, 'spent') : 0
}

/** Parameters for the account's own row, and for its other rows. */
function periodParams(identity: Pick<WriterIdentity, 'zone'>, period: BudgetPeriod, at: number): readonly number[] {
  if (period === 'total') return []
  if (isWindow(period)) return [...windowParams(identity, period, at), ...windowParams(identity, period, at)]
  const [day, dayAhead, month, monthAhead] = bounds(identity, at)
  const own = period === 'day' ? [day, dayAhead, day] : [month, monthAhead, month]
  return [...own, ...own]
}
