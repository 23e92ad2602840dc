import type { Charge } from '../../domain/index.ts'
import { ask, type Row, type QueryProgram } from '../query.ts'
import { text, toCharge } from '../rows.ts'
import { findBooked, findRefunds } from '../charge-batches/find.ts'
import { type Booked, chargeOf } from '../charge-batches/parse.ts'
import { ChargeBatchWalk } from '../charge-batches/walk.ts'

const columns = `c.*, (SELECT coalesce(sum(e.amount), 0) FROM entry e WHERE e.charge_id = c.id AND e.kind = 'refund') AS refunded`

export function* findCharge(id: string): QueryProgram<Charge | undefined> {
  return (yield* findCharges([id])).get(id)
}

/** The charges of some requests, by id, from rows or charge batches; requests without a charge are left out. */
export function* findCharges(ids: readonly string[]): QueryProgram<ReadonlyMap<string, Charge>> {
  const found = new Map<string, Charge>()
  for (const id of ids) {
    const [charge] = yield ask(`SELECT ${columns} FROM charge c WHERE c.id = ?`, id)
    if (charge) found.set(id, toCharge(charge, yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', id)))
  }
  const booked = yield* findBooked(ids.filter(id => !found.has(id)))
  for (const charge of yield* toCharges([...booked.values()])) found.set(charge.id, charge)
  return found
}

/** A page of charges in the order of their ids, after `after`. */
export function* pageCharges(after: string | null, limit: number): QueryProgram<readonly Charge[]> {
  const inRows = yield* pageRows(after ?? '', limit)
  const walk = new ChargeBatchWalk(after ?? '')
  const booked: Booked[] = []
  while (booked.length < limit) {
    const some = yield* walk.next()
    if (some.length === 0) break
    booked.push(...some)
  }
  const inBatches = yield* toCharges(booked.slice(0, limit))
  return [...inRows, ...inBatches].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
}

const together = 1_000

/** Reads charges in the order of their ids, between `after` and `before` (both excluded), in batches. */
export function* eachCharge(
  after: string,
  before: string,
  take: (some: readonly Charge[]) => QueryProgram<void>,
): QueryProgram<void> {
  for (let from = after; ; ) {
    const page = yield* pageCharges(from, together)
    const some = page.filter(({ id }) => id < before)
    if (some.length > 0) yield* take(some)
    const last = page.at(-1)
    if (!last || page.length < together || some.length < page.length) return
    from = last.id
  }
}

function* pageRows(after: string, limit: number): QueryProgram<readonly Charge[]> {
  const charges = yield ask(`SELECT ${columns} FROM charge c WHERE c.id > ? ORDER BY c.id LIMIT ?`, after, limit)
  const last = charges.at(-1)
  if (!last) return []
  const lines = yield ask(
    'SELECT * FROM line WHERE charge_id > ? AND charge_id <= ? ORDER BY charge_id, idx',
    after,
    text(last, 'id'),
  )
  const byCharge = groupRows(lines, 'charge_id')
  return charges.map(charge => toCharge(charge, byCharge.get(text(charge, 'id')) ?? []))
}

function* toCharges(booked: readonly Booked[]): QueryProgram<readonly Charge[]> {
  const refunds = yield* findRefunds(booked.map(({ id }) => id))
  return booked.map(one => chargeOf(one, refunds.get(one.id) ?? 0))
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
