import { spellsAt } from '../../kit/keys.ts'
import { ask, type Query } from '../query.ts'

/** Money that a key spends, and what was held for it and is free again. */
export type Spending = {
  readonly keyId: string
  readonly amount: number
  readonly heldBack: number
  readonly at: number
}

/**
 * Books on all of a key's life, on the day and on the month. What was spent just before midnight and is written after
 * something of the new day counts on the new one: two clocks that differ may not open a budget twice.
 */
export function spend({ keyId, amount, heldBack, at }: Spending): Query {
  const { day, month } = spellsAt(at)
  return ask(
    `UPDATE key SET spent = spent + ?, held = held - ?,
       day_spent = CASE WHEN day_start >= ? THEN day_spent ELSE 0 END + ?,
       day_start = CASE WHEN day_start >= ? THEN day_start ELSE ? END,
       month_spent = CASE WHEN month_start >= ? THEN month_spent ELSE 0 END + ?,
       month_start = CASE WHEN month_start >= ? THEN month_start ELSE ? END
     WHERE id = ?`,
    amount,
    heldBack,
    day,
    amount,
    day,
    day,
    month,
    amount,
    month,
    month,
    keyId,
  )
}

/** Gives back what was spent at `since`; off the key's day and month only while those are the ones it was spent in. */
export function giveBack(keyId: string, amount: number, since: number): Query {
  const { day, month } = spellsAt(since)
  return ask(
    `UPDATE key SET spent = spent - ?,
       day_spent = CASE WHEN day_start = ? THEN day_spent - ? ELSE day_spent END,
       month_spent = CASE WHEN month_start = ? THEN month_spent - ? ELSE month_spent END
     WHERE id = ?`,
    amount,
    day,
    amount,
    month,
    amount,
    keyId,
  )
}

/** What is left of a key's budget, as SQL with the starts of the day and of the month for parameters. */
export const left = `(budget - held - CASE budget_period WHEN 'total' THEN spent
  WHEN 'day' THEN CASE WHEN day_start >= ? THEN day_spent ELSE 0 END
  ELSE CASE WHEN month_start >= ? THEN month_spent ELSE 0 END END)`
