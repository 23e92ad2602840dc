import { hash } from 'node:crypto'
import { aheadMs, periodStartsAt } from '../../domain/budget.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

const zoneName = 'budget_zone'
const sinceName = 'budget_zone_since'
const put = `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

/** Records the zone of budget days and months from now on, if it differs from the previous one. */
export function* noteZone(zone: string, at: number): QueryProgram<void> {
  const number = numberOf(zone)
  const known = yield* readMeta()
  if (known.get(zoneName) === number) return
  // If there are no bookings yet, all days follow the new zone.
  const [booked] = yield ask('SELECT id FROM chain LIMIT 1')
  yield ask(put, zoneName, number)
  yield ask(put, sinceName, booked ? at : 0)
}

/** The time since which budgets follow a zone; undefined if they follow another one, or it was not recorded. */
export function* readZoneSince(zone: string): QueryProgram<number | undefined> {
  const known = yield* readMeta()
  return known.get(zoneName) === numberOf(zone) ? known.get(sinceName) : undefined
}

/** A start that no day or month has. */
const unknown = -1
const hourMs = 3_600_000

/**
 * The day and the month of a booking that ended at `at`. For a time in another zone than the current one the day is
 * unknown, and the month is known only if it is the same in all zones: money refunded in a wrong month could be spent
 * twice. That includes the first hour after the change, in which a gateway may still follow the earlier zone.
 */
export function* bookedOn(zone: string, at: number): QueryProgram<{ readonly day: number; readonly month: number }> {
  const since = yield* readZoneSince(zone)
  if (since !== undefined && at > since + aheadMs) return periodStartsAt(at, zone)
  const [first, last] = [periodStartsAt(at - 12 * hourMs, 'UTC').month, periodStartsAt(at + 14 * hourMs, 'UTC').month]
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
