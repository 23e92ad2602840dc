import { aheadMs } from '../../domain/budget.ts'
import { payerColumns } from '../accounts/levels.ts'
import { ask, skipLocked, type QueryProgram } from '../query.ts'
import { giveHoldsBack } from './give-holds-back.ts'

/** Charges of one commit. */
export const lapseTogether = 500

/**
 * Voids charges that have been under review since `until` or before, as the configuration says, and gives back what is still
 * held for them. One whose review began by a clock that was ahead begins its wait now. @returns how many; `lapseTogether`
 * when there may be more
 */
export function* lapse({ until, at }: { readonly until: number; readonly at: number }): QueryProgram<number> {
  yield ask(`UPDATE charge SET ended_at = ? WHERE state = 'needs_review' AND ended_at > ?`, at, at + aheadMs)
  const charges = yield ask(
    `UPDATE charge SET state = 'voided', amount = 0, reason = coalesce(reason || ', ', '') || 'nobody decided in time', ended_at = ?
     WHERE id IN (SELECT id FROM charge WHERE state = 'needs_review' AND ended_at <= ? LIMIT ${lapseTogether} ${skipLocked})
     RETURNING ${payerColumns}, CASE WHEN kept = 1 THEN hold ELSE 0 END AS hold`,
    at,
    until,
  )
  yield* giveHoldsBack(charges)
  return charges.length
}
