import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { type Booked, parseChargeBatch } from './parse.ts'
import { begunAt, reachOf } from './time-bounds.ts'

/** Finds charge batches that may contain the charge: a few, anywhere in the table. The database searches the text. */
const thatHave = `SELECT chain, position, body FROM segment
  WHERE last_id >= ? AND last_id < ? AND first_id <= ? AND instr(body, ?) > 0`

/** Finds charges in batches, by id; charges elsewhere are left out. */
export function* findBooked(ids: readonly string[]): QueryProgram<ReadonlyMap<string, Booked>> {
  const found = new Map<string, Booked>()
  const wanted = new Set(ids)
  for (const id of ids) {
    if (found.has(id) || Number.isNaN(begunAt(id))) continue
    const batches = yield ask(thatHave, id, reachOf(id), id, `"${id}"`)
    for (const batch of batches)
      for (const booked of readChargeBatch(batch)) if (wanted.has(booked.id)) found.set(booked.id, booked)
  }
  return found
}

/** @throws Error that names the charge batch if it cannot be read */
export function readChargeBatch(row: Row): readonly Booked[] {
  try {
    return parseChargeBatch(text(row, 'body'))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`charge batch ${whole(row, 'position')} of ${text(row, 'chain')} cannot be read: ${why}`, {
      cause: error,
    })
  }
}

/** @returns undefined for a charge batch that cannot be read */
export function readSound(row: Row): readonly Booked[] | undefined {
  try {
    return readChargeBatch(row)
  } catch {
    return undefined
  }
}

/** The refunded amounts of charges in batches, by their ids. */
export function* findRefunds(ids: readonly string[]): QueryProgram<ReadonlyMap<string, number>> {
  const rows = yield* selectIn(`SELECT charge_id, amount FROM reversal WHERE charge_id IN (…)`, ids)
  const sums = new Map<string, number>()
  for (const row of rows) {
    const id = text(row, 'charge_id')
    sums.set(id, (sums.get(id) ?? 0) + whole(row, 'amount'))
  }
  return sums
}
