import { hash } from 'node:crypto'
import { spellsAt } from '../../domain/budget.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

const zoneName = 'budget_zone'
const sinceName = 'budget_zone_since'
const put = `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

/** Notes by whose days and months budgets go from now on, where that is another zone than before. */
export function* noteZone(zone: string, at: number): QueryProgram<void> {
  const number = numberOf(zone)
  const known = yield* readMeta()
  if (known.get(zoneName) === number) return
  // Where nothing was ever booked, all that ever is goes by it.
  const [booked] = yield ask('SELECT id FROM chain LIMIT 1')
  yield ask(put, zoneName, number)
  yield ask(put, sinceName, booked ? at : 0)
}

/** Since when budgets have gone by a zone; undefined where they go by another one, or it was not noted. */
export function* readZoneSince(zone: string): QueryProgram<number | undefined> {
  const known = yield* readMeta()
  return known.get(zoneName) === numberOf(zone) ? known.get(sinceName) : undefined
}

/** What no day or month is called. */
const unknown = -1
const hourMs = 3_600_000

/**
 * The day and the month that something was booked on which ended at `at`. By another zone than the present one no one
 * knows the day, and the month only where it is the same all over the world: what is given back of a wrong one would be spent twice.
 */
export function* bookedOn(zone: string, at: number): QueryProgram<{ readonly day: number; readonly month: number }> {
  const since = yield* readZoneSince(zone)
  if (since !== undefined && at >= since) return spellsAt(at, zone)
  const [first, last] = [spellsAt(at - 12 * hourMs, 'UTC').month, spellsAt(at + 14 * hourMs, 'UTC').month]
  return { day: unknown, month: first === last ? first : unknown }
}

function* readMeta(): QueryProgram<ReadonlyMap<string, number>> {
  const rows = yield ask(`SELECT name, value FROM meta WHERE name IN ('${zoneName}', '${sinceName}')`)
  return new Map(rows.map(row => [text(row, 'name'), whole(row, 'value')]))
}

/** The table holds numbers: 48 bits of the name's hash. */
function numberOf(zone: string): number {
  return Number.parseInt(hash('sha256', zone, 'hex').slice(0, 12), 16)
}
