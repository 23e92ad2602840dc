import { isAroundMidnight, isLate, levelKinds, type LevelKind } from '../../domain/budget.ts'
import { bounds } from '../keys/spend.ts'
import { ask, lockRows, type QueryProgram, type Row, type Value } from '../query.ts'
import type { WriterIdentity } from '../writer-identity.ts'

type Zoned = Pick<WriterIdentity, 'zone'>

/** Money of a user, a balance or a group. */
export type Move = {
  readonly kind: LevelKind
  readonly name: string
  /** The amount spent in total, and in the current day and month; negative for a refund. */
  readonly spent: number
  readonly day: number
  readonly month: number
  /** The held amount that is released. */
  readonly released: number
  /** The row: the one that is held and tested, or one that no other transaction waits for. */
  readonly part: string
}

/** Rows of one statement. A statement costs as much as three rows. */
const together = 16
const columns = 'kind, name, part, spent, held, day_start, day_spent, month_start, month_spent'

/** The amount spent in a period that an account has left before a clock jumped; 0 in a new period. */
export const spentBefore = (period: 'day' | 'month', account: string, start: string): string =>
  `coalesce((SELECT s.spent FROM account_spell s WHERE s.kind = ${account}.kind AND s.name = ${account}.name
    AND s.part = ${account}.part AND s.period = '${period}' AND s.start = ${start}), 0)`

const booked = (period: 'day' | 'month'): string => {
  const isNow = `account.${period}_start BETWEEN excluded.${period}_start AND ?`
  const before = spentBefore(period, 'account', `excluded.${period}_start`)
  return `${period}_spent = excluded.${period}_spent + CASE WHEN ${isNow} THEN account.${period}_spent ELSE ${before} END,
    ${period}_start = CASE WHEN ${isNow} THEN account.${period}_start ELSE excluded.${period}_start END`
}

// A release is booked where the hold is: a row that does not exist never held anything.
const statementOf = (rows: number): string => `INSERT INTO account (${columns}) VALUES ${Array<string>(rows)
  .fill('(?, ?, ?, ?, ?, ?, ?, ?, ?)')
  .join(', ')}
  ON CONFLICT (kind, name, part) DO UPDATE SET spent = account.spent + excluded.spent, held = account.held - excluded.held,
    ${booked('day')}, ${booked('month')}`
// The spending of the tested row, with that of the account's other rows in the same periods.
const ofParts = (spent: string, isSame: string): string =>
  `coalesce((SELECT sum(p.${spent}) FROM account p WHERE p.kind = account.kind AND p.name = account.name AND p.part > ''
    ${isSame}), 0)`
const spentOfPeriod = (period: 'day' | 'month'): string =>
  ofParts(`${period}_spent`, `AND p.${period}_start = account.${period}_start`)
const movedColumns = `kind, name, part, held, day_start, month_start, budget_told, spent + ${ofParts('spent', '')} AS total,
  day_spent + ${spentOfPeriod('day')} AS day, month_spent + ${spentOfPeriod('month')} AS month`

/** Waits for transactions that book on the row of a tested account. */
export const lockOne = `SELECT held FROM account WHERE kind = ? AND name = ? AND part = '' ${lockRows}`

/** Locks all rows of an account in one order, so that two refunds neither deadlock nor take the same amount. */
export const lockAll = `SELECT part FROM account WHERE kind = ? AND name = ? ORDER BY part ${lockRows}`

type Statements = (rows: number) => string
const plain = kept(statementOf)
const returning = kept(rows => `${statementOf(rows)} RETURNING ${movedColumns}`)

function kept(make: Statements): Statements {
  const statements = new Map<number, string>()
  return rows => {
    let sql = statements.get(rows)
    if (sql === undefined) statements.set(rows, (sql = make(rows)))
    return sql
  }
}

/** Books on many accounts with one statement, in the common order. `now` is a moment in the day of `at`. */
export function* moveAccounts(identity: Zoned, moves: readonly Move[], at: number, now = at): QueryProgram<void> {
  yield* move(identity, plain, moves, at, now)
}

/**
 * Like `moveAccounts`, if some accounts are bounded: returns every row after the change, with its spending in `total`,
 * `day` and `month`.
 */
export function moveBounded(
  identity: Zoned,
  moves: readonly Move[],
  at: number,
  now = at,
): QueryProgram<readonly Row[]> {
  return move(identity, returning, moves, at, now)
}

/**
 * Books on many accounts with one statement, in one order, so that two transactions cannot deadlock. Keys come before
 * accounts wherever both are written.
 */
function* move(
  identity: Zoned,
  statement: Statements,
  moves: readonly Move[],
  at: number,
  now: number,
): QueryProgram<readonly Row[]> {
  const sums = sumMoves(moves)
  const wasLate = isLate(at, now, identity.zone)
  // Another process may book on the same row from the other side of midnight: its result is read again after it
  // commits. Within the statement PostgreSQL reads only the row again after the wait.
  if (wasLate || isAroundMidnight(at, identity.zone))
    for (const { kind, name, part } of sums) if (part === '') yield ask(lockOne, kind, name)
  const moved = yield* write(identity, statement, sums, at)
  if (wasLate) yield* comeBack(identity, sums, now)
  return moved
}

/**
 * Returns rows to the current day and month, in the transaction that has booked an amount of an earlier day: no other
 * transaction sees them there. A transaction far from midnight that waited would read the earlier result.
 */
function* comeBack(identity: Zoned, sums: readonly Move[], now: number): QueryProgram<void> {
  const nothing = { spent: 0, day: 0, month: 0, released: 0 }
  yield* write(
    identity,
    plain,
    sums.map(sum => ({ ...sum, ...nothing })),
    now,
  )
}

/** @param sums one for each row, in the order of all rows */
function* write(
  identity: Zoned,
  statement: Statements,
  sums: readonly Move[],
  at: number,
): QueryProgram<readonly Row[]> {
  const moved: Row[] = []
  const [day, dayAhead, month, monthAhead] = bounds(identity, at)
  for (let next = 0; next < sums.length; ) {
    const left = sums.length - next
    const many = left >= together ? together : left >= 4 ? 4 : left
    const params: Value[] = []
    for (const move of sums.slice(next, next + many)) {
      const { kind, name, part, spent, released } = move
      params.push(kind, name, part, spent, released, day, move.day, month, move.month)
    }
    params.push(dayAhead, dayAhead, monthAhead, monthAhead)
    moved.push(...(yield { sql: statement(many), params }))
    next += many
  }
  return moved
}

/** One move for each row, in the order of all rows. */
function sumMoves(moves: readonly Move[]): readonly Move[] {
  const sums = new Map<string, Move>()
  for (const move of moves) {
    const name = `${levelKinds.indexOf(move.kind)} ${move.part} ${move.name}`
    const sum = sums.get(name)
    if (!sum) sums.set(name, move)
    else
      sums.set(name, {
        ...sum,
        spent: sum.spent + move.spent,
        day: sum.day + move.day,
        month: sum.month + move.month,
        released: sum.released + move.released,
      })
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, move]) => move)
}
