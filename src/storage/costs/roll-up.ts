import { ask, lockRows, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { addPlaces, openChains } from './places.ts'
import type { PassNumber } from './spans.ts'
import { CostSums } from './sums.ts'
import { writeSums } from './write-sums.ts'

/** Allows one transaction at a time: others wait for this row. */
const wait = `SELECT value FROM meta WHERE name = 'costed' ${lockRows}`
const moveOn = `INSERT INTO cost_progress (pass, chain, position, keyed) VALUES (?, ?, ?, 1)
  ON CONFLICT (pass, chain) DO UPDATE SET position = excluded.position`

/**
 * Adds up the next entries of one chain of the ledger. The position is written with the sums, so nothing counts twice,
 * and readers read the entries after that position from the ledger itself.
 * @returns the number of charges; 0 if nothing is left
 */
export function* rollUpCosts(): QueryProgram<number> {
  return yield* rollUpTo(yield* lockSums())
}

/** Returns the pass that queries read, for a caller that changes sums: other callers wait until it commits. */
export function* lockSums(): QueryProgram<PassNumber> {
  const [row] = yield ask(wait)
  return whole(row ?? {}, 'value') === 1 ? 1 : 0
}

/** Like `rollUpCosts`, for either pass. The caller has locked the sums. */
export function* rollUpTo(pass: PassNumber): QueryProgram<number> {
  for (const row of yield ask(openChains, pass)) {
    const [chain, from, last] = [text(row, 'id'), whole(row, 'upto'), whole(row, 'last')]
    const sums = new CostSums()
    const { upto, charges } = yield* addPlaces(sums, chain, from, last)
    yield ask(moveOn, pass, chain, upto)
    // Longer spans that are being written must not miss a charge.
    const [fold] = yield ask('SELECT target FROM cost_fold WHERE pass = ?', pass)
    yield* writeSums(sums, { number: pass, folded: whole(fold ?? {}, 'target') })
    return Math.max(charges, 1)
  }
  return 0
}
