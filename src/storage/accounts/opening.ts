import { hash } from 'node:crypto'
import type { BudgetPeriod } from '../../domain/budget-period.ts'
import type { LevelKind } from '../../domain/budget.ts'
import { type Entry, post } from '../ledger/entries.ts'
import { bounds } from '../keys/spend.ts'
import type { Signed } from '../people/trail.ts'
import { ask, type QueryProgram } from '../query.ts'
import type { Scribe } from '../writer-identity.ts'
import { mainPart } from './levels.ts'
import { moveAccounts } from './move.ts'

/** A budget for a window counts the opening amount on the current day. */
export type OpeningPeriod = 'day' | 'month'
export const openingPeriod = (period: Exclude<BudgetPeriod, 'total'>): OpeningPeriod =>
  period === 'month' ? period : 'day'
type Payer = { readonly kind: 'key' | LevelKind; readonly name: string }

/** Accounts for money spent elsewhere, by the period that it counts in. */
export const before = { day: 'before:day', month: 'before:month' } as const

export const payerOf = ({ kind, name }: Payer): string => `${kind}:${name}`

/**
 * Counts money that was spent elsewhere in the current day or month: one transaction writes its own entry and reduces
 * the budget. Counts it once for each payer, and never in the total.
 * @returns whether it was counted now
 */
export function* countOpening(
  identity: Scribe,
  given: Signed & { readonly payer: Payer; readonly period: OpeningPeriod; readonly amount: number },
): QueryProgram<boolean> {
  const { payer, period, amount, by, at } = given
  const [debit, credit] = [before[period], payerOf(payer)]
  if (amount === 0) return false
  const [known] = yield ask('SELECT charge_id FROM topup WHERE credit = ? LIMIT 1', credit)
  if (known) return false
  yield* count(identity, given)
  const id = identity.ids.next('open_', at)
  const entry = { chargeId: id, kind: 'topup', debit, credit, amount, actor: by, reason: 'spent before', at } as const
  yield* post(identity, { ...entry, digest: digestOpening(entry) }, 'topup')
  return true
}

function* count(
  identity: Scribe,
  { payer, period, amount, at }: Parameters<typeof countOpening>[1],
): QueryProgram<void> {
  const { kind, name } = payer
  const [day, , month] = bounds(identity, at)
  if (kind === 'key') {
    const start = period === 'day' ? day : month
    const set = `${period}_start = ?, ${period}_spent = CASE WHEN ${period}_start = ? THEN ${period}_spent ELSE 0 END + ?`
    yield ask(`UPDATE key SET ${set} WHERE id = ?`, start, start, amount, name)
    return
  }
  const nothing = { spent: 0, day: 0, month: 0, released: 0 }
  yield* moveAccounts(identity, [{ kind, name, part: mainPart, ...nothing, [period]: amount }], at)
}

/** What the hash of an entry covers. */
export function digestOpening({ chargeId, debit, credit, amount }: Omit<Entry, 'digest'>): string {
  return hash('sha256', JSON.stringify([chargeId, debit, credit, amount]), 'hex')
}
