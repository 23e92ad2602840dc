import type { BudgetPeriod } from '../../domain/budget.ts'
import { spellNow } from '../keys/spend.ts'
import type { QueryProgram, Rows } from '../query.ts'
import { text, textOrNull, whole, wholeOrNull } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { writeBudgetEvents } from './budget-events.ts'
import type { HeldBudget } from './held-budgets.ts'
import { mainPart } from './levels.ts'

type Telling = Pick<WriterIdentity, 'zone' | 'thresholds'>

/** A budget that a charge was held from, and its owner. */
export type Watched = HeldBudget & { readonly name: string; readonly currency: string }

/** Writes events of a key's budget, if it has one: from its row with `foundColumns`, in its current state. */
export function* writeKeyEvents(
  identity: Telling,
  [key]: Rows,
  currency: string,
  at: number,
  refused?: 'refused',
): QueryProgram<void> {
  if (!key) return
  const amount = wholeOrNull(key, 'budget')
  if (amount === null) return
  const [name, user, per] = [text(key, 'id'), text(key, 'user_name'), text(key, 'budget_period') as BudgetPeriod]
  const start = per === 'total' ? 0 : spellNow(identity, per, whole(key, `${per}_start`), at)
  // Nothing yet if its row is for an earlier day or month.
  const spent =
    per === 'total' ? whole(key, 'spent') : whole(key, `${per}_start`) === start ? whole(key, `${per}_spent`) : 0
  const own = {
    held: whole(key, 'held'),
    told: textOrNull(key, 'budget_told'),
    isRefused: refused !== undefined,
    isSoft: false,
  }
  yield* writeBudgetEvents(identity, { level: 'key', name, user, currency, amount, per, start, spent, ...own }, at)
}

/** Writes events of the budgets that charges were held from, by the rows that `moveBounded` returned. */
export function* writeAccountEvents(
  identity: Telling,
  moved: Rows,
  watched: readonly Watched[],
  at: number,
): QueryProgram<void> {
  const budgets = new Map(watched.map(one => [`${one.kind} ${one.name} ${one.amount} ${one.per} ${one.soft}`, one]))
  for (const row of moved) {
    if (text(row, 'part') !== mainPart) continue
    for (const { kind, name, amount, per, soft, currency } of budgets.values()) {
      if (text(row, 'kind') !== kind || text(row, 'name') !== name) continue
      const user = kind === 'group' ? null : name
      const start = per === 'total' ? 0 : whole(row, `${per}_start`)
      const own = { spent: whole(row, per), held: whole(row, 'held'), told: textOrNull(row, 'budget_told') }
      yield* writeBudgetEvents(
        identity,
        { level: kind, name, user, currency, amount, per, start, ...own, isRefused: false, isSoft: soft === true },
        at,
      )
    }
  }
}
