import { isDeepStrictEqual } from 'node:util'
import { type ChargeItem, chargeItemMembers } from '../../domain/charge.ts'
import { cellsOf, columnsOf, pushCells } from '../../domain/shapes/member.ts'
import { ask, type Query, type QueryProgram, type Value } from '../query.ts'
import { toLine } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { writeItemFacts } from './item-facts.ts'

/**
 * Writes one item, once. First changes the charge's row, if it is still reserved by this process: this locks the row,
 * so that no process can recover the charge between the check and the item.
 * @returns true if the item exists, now or from before; false if the charge is lost or the existing item differs
 */
export function* addChargeItem(
  identity: WriterIdentity,
  chargeId: string,
  line: ChargeItem,
  upstream?: string,
): QueryProgram<boolean> {
  const [charge] = yield ask(
    `UPDATE charge SET line_count = line_count + 1, amount = amount + ?, upstream = coalesce(?, upstream)
     WHERE id = ? AND state = 'reserved' AND owner = ? AND epoch = ?
       AND NOT EXISTS (SELECT 1 FROM line WHERE charge_id = ? AND idx = ?) RETURNING id`,
    line.price,
    upstream ?? null,
    chargeId,
    identity.owner,
    identity.epoch,
    chargeId,
    line.index,
  )
  if (!charge) return yield* hasLine(chargeId, line)
  yield insertChargeItem(chargeId, line)
  return true
}

/** The columns of an item, in the order of its row. */
export const chargeItemColumns: readonly string[] = ['charge_id', ...columnsOf(chargeItemMembers), 'told']
const insert = `INSERT INTO line (${chargeItemColumns.join(', ')}) VALUES (${chargeItemColumns.map(() => '?').join(', ')})`

/** Inserts the row of an item that its charge already counts. */
export function insertChargeItem(chargeId: string, line: ChargeItem): Query {
  return ask(insert, ...chargeItemValues(chargeId, line))
}

/** An item as plain values, in the order of its columns. */
export function chargeItemValues(chargeId: string, line: ChargeItem): [chargeId: string, ...Value[]] {
  const cells: [string, ...Value[]] = [chargeId]
  pushCells(chargeItemMembers, line.source === 'told' ? { ...line, source: 'output' } : line, cells)
  cells.push(writeItemFacts(line))
  return cells
}

function* hasLine(chargeId: string, line: ChargeItem): QueryProgram<boolean> {
  const [row] = yield ask('SELECT * FROM line WHERE charge_id = ? AND idx = ?', chargeId, line.index)
  return row !== undefined && sameLine(toLine(row), line)
}

function sameLine(a: ChargeItem, b: ChargeItem): boolean {
  return (
    isDeepStrictEqual(cellsOf(chargeItemMembers, a), cellsOf(chargeItemMembers, b)) &&
    writeItemFacts(a) === writeItemFacts(b)
  )
}
