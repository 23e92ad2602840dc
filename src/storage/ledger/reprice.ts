import { amountOfItems } from '../../domain/charge.ts'
import { repricedId, type Repricing } from '../../domain/reprice.ts'
import { withoutBudgets } from '../accounts/held-budgets.ts'
import { insertRows } from '../insert-rows.ts'
import { ask, type QueryProgram } from '../query.ts'
import { textOrNull } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { factValues } from './fact-values.ts'
import { chargeItemColumns, chargeItemValues } from './charge-item.ts'
import { chargeColumns, chargeRow, toRow } from './post-charges.ts'
import { refund } from './refund.ts'
import { book } from './settle.ts'

/**
 * Refunds a charge and books its replacement at other prices, in one transaction: the charge itself does not change. A
 * free replacement is not booked.
 * @returns false if any part of the charge was refunded, or it was repriced before
 */
export function* reprice(
  identity: Scribe,
  { charge, rule, lines, configRevision, by, reason, at }: Repricing & { readonly at: number },
): QueryProgram<boolean> {
  const id = repricedId(charge.id)
  const [known] = yield ask('SELECT 1 AS known FROM charge WHERE id = ?', id)
  if (known) return false
  const why = `repriced as ${id}: ${reason}`
  // Refunds everything or nothing: an earlier partial refund was at the old price.
  const whole = { id: charge.id, by, reason: why, at, refunded: 0 }
  if (charge.amount > 0 && (yield* refund(identity, whole)) === 0) return false
  const amount = amountOfItems(lines)
  if (amount === 0) return true
  const facts = factValues({ ...charge, id, rule, configRevision })
  // The upstream charges only once, so its cost stays with the replaced charge.
  const posted = [...facts, 0, amount, lines.length, charge.delivery, at, null] as const
  const settled = chargeRow(identity, posted, [JSON.stringify(rule)])
  // The same accounts pay as before, also a balance or the account of an end user.
  const [before] = yield ask('SELECT levels FROM charge WHERE id = ?', charge.id)
  const held = before ? textOrNull(before, 'levels') : null
  const levels = held === null ? null : withoutBudgets(held)
  const row = { ...settled, levels, reason: `reprices ${charge.id}: ${reason}`, created_at: charge.createdAt }
  const own = lines.map(line => toRow(chargeItemColumns, chargeItemValues(id, line)))
  yield* insertRows('line', chargeItemColumns, own)
  yield* insertRows('charge', chargeColumns, [row])
  yield* book(identity, row, { actor: by, heldNow: 0, at })
  return true
}
