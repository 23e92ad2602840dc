import type { Line } from '../../kit/index.ts'
import { ask, type Query, type QueryProgram } from '../query.ts'
import { toLine } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'

/**
 * Writes one line, once. The charge's own row is changed first, under the condition that it is still reserved and ours:
 * that locks it, so nobody can recover the charge between the check and the line.
 * @returns true when the line is there, now or from before; false when the charge is lost or the line another one.
 */
export function* addLine(identity: WriterIdentity, chargeId: string, line: Line): QueryProgram<boolean> {
  const [charge] = yield ask(
    `UPDATE charge SET line_count = line_count + 1, amount = amount + ?
     WHERE id = ? AND state = 'reserved' AND owner = ? AND epoch = ?
       AND NOT EXISTS (SELECT 1 FROM line WHERE charge_id = ? AND idx = ?) RETURNING id`,
    line.price,
    chargeId,
    identity.owner,
    identity.epoch,
    chargeId,
    line.index,
  )
  if (!charge) return yield* hasLine(chargeId, line)
  yield insertLine(chargeId, line)
  return true
}

/** The row of a line, whose charge counts it already. */
export function insertLine(chargeId: string, line: Line): Query {
  return ask(
    `INSERT INTO line (charge_id, idx, tier, source, width, height, price, flags, quantity)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    chargeId,
    line.index,
    line.tier,
    line.source,
    line.width,
    line.height,
    line.price,
    JSON.stringify(line.flags),
    line.quantity,
  )
}

function* hasLine(chargeId: string, line: Line): QueryProgram<boolean> {
  const [row] = yield ask('SELECT * FROM line WHERE charge_id = ? AND idx = ?', chargeId, line.index)
  return row !== undefined && sameLine(toLine(row), line)
}

function sameLine(a: Line, b: Line): boolean {
  return (
    a.tier === b.tier &&
    a.source === b.source &&
    a.width === b.width &&
    a.height === b.height &&
    a.price === b.price &&
    a.quantity === b.quantity &&
    a.flags.join('\n') === b.flags.join('\n')
  )
}
