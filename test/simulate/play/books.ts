import type { Row } from '../world/storage.ts'
import { type Ask, idOf } from './asks.ts'
import type { Stage } from './stage.ts'

/** The gateway's records, read by SQL of the test's own. */
export type Books = {
  readonly charges: ReadonlyMap<string, Row>
  readonly entries: readonly Row[]
  /** Positions in chains, in order: an entry, or a segment with all its charges. */
  readonly links: readonly Row[]
  readonly keys: readonly Row[]
  linesOf(charge: string): readonly Row[]
  /** The charge of an ask's images or, for text, of its usage. */
  chargeOf(ask: Ask, suffix?: string): Row | undefined
}

export function readBooks(stage: Stage): Books {
  const charges = new Map(stage.look('SELECT * FROM charge ORDER BY id').map(row => [String(row['id']), row]))
  const lines = Map.groupBy(stage.look('SELECT * FROM line ORDER BY charge_id, idx'), row => String(row['charge_id']))
  return {
    charges,
    entries: stage.look('SELECT * FROM entry ORDER BY chain, position'),
    links: stage.look('SELECT DISTINCT chain, position, prev_hash, hash FROM entry ORDER BY chain, position'),
    keys: stage.look('SELECT * FROM key'),
    linesOf: charge => lines.get(charge) ?? [],
    chargeOf: (ask, suffix = '') => charges.get(`${idOf(ask) ?? ''}${suffix}`),
  }
}
