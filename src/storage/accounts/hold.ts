import { type BudgetPeriod, renewalAt } from '../../kit/budget.ts'
import { type LevelKind, levelKinds } from '../../kit/budget.ts'
import { type Level } from '../../kit/levels.ts'
import type { HoldResult } from '../../kit/stores.ts'
import { bounds } from '../keys/spend.ts'
import { ask, type QueryProgram } from '../query.ts'
import { whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { mainPart } from './levels.ts'
import { spentBefore } from './move.ts'

type Overdrawn = Extract<HoldResult, { kind: 'overdrawn' }>

/** What a row of an account has spent in the spell that it is now, as SQL. */
const spentNow = (account: string, period: BudgetPeriod): string =>
  period === 'total'
    ? `${account}.spent`
    : `CASE WHEN ${account}.${period}_start BETWEEN ? AND ? THEN ${account}.${period}_spent
        ELSE ${spentBefore(period, account, '?')} END`

/** What is left of a budget whose amount is the first parameter; those of `periodParams` follow. */
const left = (kind: LevelKind, period: BudgetPeriod): string => {
  // What was paid in stands in the books, and not in what the caller's key says.
  const amount =
    kind === 'balance' ? '(SELECT coalesce(balance, 0) FROM "user" WHERE "user".name = ?)' : 'CAST(? AS BIGINT)'
  return `(${amount} - account.held - ${spentNow('account', period)}
    - coalesce((SELECT sum(${spentNow('p', period)}) FROM account p
        WHERE p.kind = account.kind AND p.name = account.name AND p.part <> ''), 0))`
}

const holdOne = (kind: LevelKind, period: BudgetPeriod): string =>
  `UPDATE account SET held = held + ? WHERE kind = ? AND name = ? AND part = '' AND ${left(kind, period)} >= ? RETURNING held`
const explain = (kind: LevelKind, period: BudgetPeriod): string =>
  `SELECT ${left(kind, period)} AS available, held FROM account WHERE kind = ? AND name = ? AND part = ''`
const makeOne = `INSERT INTO account (kind, name, part) VALUES (?, ?, '') ON CONFLICT (kind, name, part) DO NOTHING`

/**
 * Takes a hold from the budgets of a request's levels, in the order of all who do, or says which of them cannot bear it:
 * then it is held of none. The statement that moves an account tests it.
 */
export function* holdLevels(
  identity: WriterIdentity,
  levels: readonly Level[],
  hold: number,
  at: number,
): QueryProgram<Overdrawn | undefined> {
  const ordered = [...levels].sort((a, b) => levelKinds.indexOf(a.kind) - levelKinds.indexOf(b.kind))
  for (const [held, level] of ordered.entries()) {
    const refusal = yield* holdLevel(identity, level, hold, at)
    if (!refusal) continue
    for (const { kind, name } of ordered.slice(0, held)) yield releaseLevel(kind, name, hold)
    return refusal
  }
  return undefined
}

/** Gives back what was held of an account. */
export function releaseLevel(kind: LevelKind, name: string, hold: number) {
  return ask(
    `UPDATE account SET held = held - ? WHERE kind = ? AND name = ? AND part = '${mainPart}'`,
    hold,
    kind,
    name,
  )
}

function* holdLevel(
  identity: WriterIdentity,
  level: Level,
  hold: number,
  at: number,
): QueryProgram<Overdrawn | undefined> {
  const { kind, name, per, amount } = level
  const bound = kind === 'balance' ? name : amount
  const period = periodParams(identity, per, at)
  const [held] = yield ask(holdOne(kind, per), hold, kind, name, bound, ...period, hold)
  if (held) return undefined
  const [row] = yield ask(explain(kind, per), bound, ...period, kind, name)
  if (!row) yield ask(makeOne, kind, name)
  const availableMicros = row ? Math.max(0, whole(row, 'available')) : Infinity
  // Nobody had held of it before, or somebody has given back between the two statements.
  if (availableMicros >= hold) return yield* holdLevel(identity, level, hold, at)
  const heldMicros = row ? whole(row, 'held') : 0
  return { kind: 'overdrawn', level: kind, availableMicros, heldMicros, renewsAt: renewalAt(per, at, identity.zone) }
}

/** Of the account's own row, and of its other ones. */
function periodParams(identity: WriterIdentity, period: BudgetPeriod, at: number): readonly number[] {
  if (period === 'total') return []
  const [day, dayAhead, month, monthAhead] = bounds(identity, at)
  const own = period === 'day' ? [day, dayAhead, day] : [month, monthAhead, month]
  return [...own, ...own]
}
