import type { Charge } from '../../kit/index.ts'
import { ask, type Row, type QueryProgram } from '../query.ts'
import { text, toCharge } from '../rows.ts'

const columns = `c.*, (SELECT coalesce(sum(e.amount), 0) FROM entry e WHERE e.charge_id = c.id AND e.kind = 'refund') AS refunded`

export function* findCharge(id: string): QueryProgram<Charge | undefined> {
  const [charge] = yield ask(`SELECT ${columns} FROM charge c WHERE c.id = ?`, id)
  if (!charge) return undefined
  return toCharge(charge, yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', id))
}

/** The charges of some requests, by id; requests without one are left out. */
export function* findCharges(ids: readonly string[]): QueryProgram<ReadonlyMap<string, Charge>> {
  const found = new Map<string, Charge>()
  for (const id of ids) {
    const charge = yield* findCharge(id)
    if (charge) found.set(id, charge)
  }
  return found
}

/** Charges in the order of their ids, after `after`. */
export function* pageCharges(after: string | null, limit: number): QueryProgram<readonly Charge[]> {
  const charges = yield ask(`SELECT ${columns} FROM charge c WHERE c.id > ? ORDER BY c.id LIMIT ?`, after ?? '', limit)
  const last = charges.at(-1)
  if (!last) return []
  const lines = yield ask(
    'SELECT * FROM line WHERE charge_id > ? AND charge_id <= ? ORDER BY charge_id, idx',
    after ?? '',
    text(last, 'id'),
  )
  const byCharge = groupRows(lines, 'charge_id')
  return charges.map(charge => toCharge(charge, byCharge.get(text(charge, 'id')) ?? []))
}

export function groupRows(rows: readonly Row[], column: string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(text(row, column))
    if (group) group.push(row)
    else groups.set(text(row, column), [row])
  }
  return groups
}
