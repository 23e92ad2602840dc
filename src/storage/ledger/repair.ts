import { levelKinds } from '../../domain/budget.ts'
import type { BudgetCorrection } from '../../domain/index.ts'
import { mainPart } from '../accounts/levels.ts'
import { lockKeys } from '../keys/lock.ts'
import { appendTrail, type Signed } from '../people/trail.ts'
import { ask, type QueryProgram } from '../query.ts'
import { whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'

/** The corrections that an audit found, and the number of repairs at that time. */
export type Corrections = {
  readonly repairs: number
  readonly corrections: readonly BudgetCorrection[]
  /** False if the audit found another problem, so that the charges cannot correct budgets. */
  readonly isSound: boolean
}

const repairsName = 'budget_repairs'

const spentOfPeriod = (period: 'day' | 'month', table: string, start: string, spent: string): string =>
  `${period}_spent = CASE WHEN ${table}.${period}_start = ${start} THEN ${table}.${period}_spent + ${spent}
     WHEN ${table}.${period}_start < ${start} THEN ${spent} ELSE ${table}.${period}_spent END,
   ${period}_start = CASE WHEN ${table}.${period}_start < ${start} THEN ${start} ELSE ${table}.${period}_start END`

const correctKey = `UPDATE key SET spent = spent + ?, held = held + ?,
  ${spentOfPeriod('day', 'key', '?', '?')}, ${spentOfPeriod('month', 'key', '?', '?')} WHERE id = ?`

const correctAccount = `INSERT INTO account (kind, name, part, spent, held, day_start, day_spent, month_start, month_spent)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (kind, name, part) DO UPDATE SET spent = account.spent + excluded.spent, held = account.held + excluded.held,
    ${spentOfPeriod('day', 'account', 'excluded.day_start', 'excluded.day_spent')},
    ${spentOfPeriod('month', 'account', 'excluded.month_start', 'excluded.month_spent')}`

/** The number of corrections of budgets. */
export function* countRepairs(): QueryProgram<number> {
  const [row] = yield ask('SELECT value FROM meta WHERE name = ?', repairsName)
  return row ? whole(row, 'value') : 0
}

/**
 * Adds the differences that an audit found to keys and accounts. Concurrent bookings change both sides alike, so the
 * differences remain valid unless another process has corrected budgets meanwhile.
 * @returns false if another process has; the audit has to run again
 */
export function* repairBudgets(
  identity: Scribe,
  { corrections, repairs, by, at }: Signed & Pick<Corrections, 'corrections' | 'repairs'>,
): QueryProgram<boolean> {
  const [first] = yield ask(
    `INSERT INTO meta (name, value) VALUES (?, 1)
     ON CONFLICT (name) DO UPDATE SET value = meta.value + 1 WHERE meta.value = ? RETURNING value`,
    repairsName,
    repairs,
  )
  if (!first) return false
  // In the common lock order.
  const keys = corrections.filter(({ payer }) => payer.kind === 'key')
  yield* lockKeys(keys.map(({ payer }) => payer.name))
  for (const { payer, spent, held, day, month } of keys)
    yield ask(correctKey, spent, held, ...periodParams(day), ...periodParams(month), payer.name)
  for (const { payer, spent, held, day, month } of corrections.filter(isOfAccount).sort(byOrder))
    yield ask(
      correctAccount,
      payer.kind,
      payer.name,
      mainPart,
      spent,
      held,
      day.start,
      day.spent,
      month.start,
      month.spent,
    )
  for (const { payer, spent, held } of corrections)
    yield* appendTrail(identity, { by, at }, 'budget.correct', `${payer.kind} ${payer.name}`, null, { spent, held })
  return true
}

type Corrected = BudgetCorrection['day']

function periodParams({ start, spent }: Corrected): readonly number[] {
  return [start, spent, start, spent, start, start]
}

function isOfAccount({ payer }: BudgetCorrection): boolean {
  return payer.kind !== 'key'
}

function byOrder({ payer: a }: BudgetCorrection, { payer: b }: BudgetCorrection): number {
  const order = ({ kind, name }: BudgetCorrection['payer']): string =>
    `${levelKinds.findIndex(one => one === kind)} ${mainPart} ${name}`
  return order(a) < order(b) ? -1 : 1
}
