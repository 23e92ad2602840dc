import { type BudgetPeriod, rollingDays, splitPeriod } from '../../domain/budget-period.ts'
import { type LevelKind, renewalOf } from '../../domain/budget.ts'
import type { EventData, NewEvent } from '../../domain/events.ts'
import { ownNameOf } from '../../domain/levels.ts'
import { formatMoney } from '../../util/units.ts'
import { writeEvent } from '../events/write-event.ts'
import { ask, lockRows, type Query, type QueryProgram } from '../query.ts'
import { textOrNull, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { mainPart } from './levels.ts'

/** A budget as a statement read it, in the current period. */
export type FoundBudget = {
  readonly level: 'key' | LevelKind
  /** The id of a key, the name of an account. */
  readonly name: string
  /** The owner, who may read its events; null for a group's. */
  readonly user: string | null
  readonly currency: string
  /** Micro-units, as are `spent` and `held`. */
  readonly amount: number
  readonly per: BudgetPeriod
  /** The period by its name: its first day, 0 for a budget that does not renew. */
  readonly start: number
  readonly spent: number
  readonly held: number
  /** The column `budget_told`. */
  readonly sent: string | null
  /** The refused amount, which exceeded the rest of the budget. */
  readonly isRefused: boolean
  /** A soft budget is never exhausted: it refuses nothing. */
  readonly isSoft: boolean
}

/** Which events were sent for a budget of one period and amount: the highest percent, and 1 if it is exhausted. */
type SentEvents = readonly [per: BudgetPeriod, start: number, amount: number, percent: number, exhausted: 0 | 1]

/** The last periods and amounts: a user with keys in several groups may have a different budget in each. */
const keptMax = 16
const dayMs = 86_400_000

/**
 * Writes events of a budget: each percent that it has reached, and that it is exhausted (all of it is spent, or a
 * request was refused for the first time). Each event is written once for each period and amount, whichever process
 * notices first: a budget that was raised, topped up or renewed counts as a new one, and one that a refund has reduced
 * does not. Runs no query if nothing is new.
 */
export function* writeBudgetEvents(
  identity: Pick<WriterIdentity, 'zone' | 'thresholds'>,
  found: FoundBudget,
  at: number,
): QueryProgram<void> {
  if (!findDueEvents(identity.thresholds, found)) return
  const [row] = yield lockSentEvents(found)
  if (!row) return
  const amount = found.level === 'balance' ? whole(row, 'balance') : found.amount
  const locked = { ...found, amount, sent: textOrNull(row, 'budget_told') }
  const due = findDueEvents(identity.thresholds, locked)
  if (!due) return
  const { sent, percents, isExhausted } = due
  yield writeSentEvents(found, JSON.stringify(sent))
  // Uses the budget's own period: around midnight the clock of another process may already be in the next one.
  for (const event of eventsOf(locked, percents, isExhausted, renewalOf(found.per, found.start, identity.zone)))
    yield* writeEvent(event, at)
}

type DueEvents = {
  readonly sent: readonly SentEvents[]
  readonly percents: readonly number[]
  readonly isExhausted: boolean
}

function findDueEvents(thresholds: readonly number[], found: FoundBudget): DueEvents | undefined {
  const { amount, per, start, spent, isRefused, isSoft } = found
  const reached = amount > 0 ? thresholds.filter(percent => spent >= shareOf(amount, percent)) : []
  const isOver = !isSoft && (isRefused || (amount > 0 && spent >= amount))
  if (reached.length === 0 && !isOver) return undefined
  const known = readSentEvents(found.sent)
  const own = known.find(one => one[0] === per && isSamePeriod(per, one[1], start) && one[2] === amount)
  const [before, wasExhausted] = own ? [own[3], own[4]] : [0, 0]
  const percents = reached.filter(percent => percent > before)
  const isExhausted = isOver && wasExhausted === 0
  if (percents.length === 0 && !isExhausted) return undefined
  const now: SentEvents = [
    per,
    own?.[1] ?? start,
    amount,
    Math.max(before, ...percents),
    isOver || wasExhausted === 1 ? 1 : 0,
  ]
  return { sent: [now, ...known.filter(one => one !== own)].slice(0, keptMax), percents, isExhausted }
}

/**
 * A rolling period moves on every day: events are sent again when none of the days that the last events covered is left
 * in it.
 */
function isSamePeriod(period: BudgetPeriod, known: number, now: number): boolean {
  const days = rollingDays(period)
  return known === now || (days !== undefined && Math.abs(now - known) < days * dayMs)
}

/** Micro-units of a percentage, rounded up. */
function shareOf(amount: number, percent: number): number {
  return Number((BigInt(amount) * BigInt(percent) + 99n) / 100n)
}

function readSentEvents(sent: string | null): readonly SentEvents[] {
  return sent === null ? [] : (JSON.parse(sent) as readonly SentEvents[])
}

/** Reads the row again and locks it until all is written: a refused request changed nothing and holds no lock on it. */
function lockSentEvents({ level, name }: FoundBudget): Query {
  if (level === 'key') return ask(`SELECT budget_told FROM key WHERE id = ? ${lockRows}`, name)
  // The books record the payments; the copy in a client's key may be older.
  const balance =
    level === 'balance' ? `, (SELECT coalesce(balance, 0) FROM "user" WHERE name = account.name) AS balance` : ''
  return ask(
    `SELECT budget_told${balance} FROM account WHERE kind = ? AND name = ? AND part = '${mainPart}' ${lockRows}`,
    level,
    name,
  )
}

function writeSentEvents({ level, name }: FoundBudget, sent: string): Query {
  return level === 'key'
    ? ask('UPDATE key SET budget_told = ? WHERE id = ?', sent, name)
    : ask(`UPDATE account SET budget_told = ? WHERE kind = ? AND name = ? AND part = '${mainPart}'`, sent, level, name)
}

function eventsOf(
  { level, name, user, currency, amount, per, spent, held, isRefused }: FoundBudget,
  percents: readonly number[],
  isExhausted: boolean,
  renewsAt: number | null,
): readonly NewEvent[] {
  // The event has the end user's id; readers get the name that the id has when they read it (`events/named.ts`).
  const who = { level, name: level === 'key' ? name : ownNameOf({ kind: level, name }), user }
  const { per: length, resetsOn } = splitPeriod(per)
  const day = per.includes('@') ? { resets_on: resetsOn } : {}
  const sums = { spent: formatMoney(spent), amount: formatMoney(amount), currency, per: length, ...day }
  const renews = renewsAt === null ? null : new Date(renewsAt).toISOString()
  const reached = percents.map((percent): NewEvent => {
    const data: EventData = { ...who, percent, ...sums, renews }
    return { kind: 'budget.threshold', data }
  })
  const data: EventData = { ...who, ...sums, held: formatMoney(held), refused: isRefused, renews }
  return isExhausted ? [...reached, { kind: 'budget.exhausted', data }] : reached
}
