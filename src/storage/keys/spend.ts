import { spellsAt } from '../../kit/keys.ts'
import { ask, type Query } from '../query.ts'

/** Money that moves on a key: what it spends (less than nothing when it is given back), and what was held and is free again. */
export type Spending = {
  readonly keyId: string
  readonly amount: number
  readonly heldBack: number
  readonly at: number
  /** When what is given back was spent: it is taken off today only when it was today. */
  readonly since?: number
}

/** Books on all of a key's life, on the day and on the month. */
export function spend({ keyId, amount, heldBack, at, since = at }: Spending): Query {
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
    since >= day ? amount : 0,
    day,
    day,
    month,
    since >= month ? amount : 0,
    month,
    month,
    keyId,
  )
}

/** What is left of a key's budget, as SQL with the starts of the day and of the month for parameters. */
export const left = `(budget - held - CASE budget_period WHEN 'total' THEN spent
  WHEN 'day' THEN CASE WHEN day_start >= ? THEN day_spent ELSE 0 END
  ELSE CASE WHEN month_start >= ? THEN month_spent ELSE 0 END END)`
