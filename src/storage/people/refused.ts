import type { RefusedFilter, RefusedSignIns, RefusedTry } from '../../domain/index.ts'
import { ask, type QueryProgram, type Row, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'

const hourMs = 3_600_000
/**
 * The maximum number of rows per hour; further sign-ins are counted in one more row, so that guesses do not fill the
 * disk.
 */
const rowsOfHour = 200
const hoursKept = 90 * 24
const rowsMax = 1_000

const addOne = `UPDATE refused_sign_in SET times = times + 1, last_at = ?
  WHERE hour = ? AND name = ? AND remote = ? AND way = ? RETURNING times`
const insert = `INSERT INTO refused_sign_in (hour, name, remote, way, times, first_at, last_at) VALUES (?, ?, ?, ?, 1, ?, ?)
  ON CONFLICT (hour, name, remote, way) DO UPDATE SET times = refused_sign_in.times + 1, last_at = excluded.last_at`

export function* countRefused({ name, remote, way, at }: RefusedTry & { readonly at: number }): QueryProgram<null> {
  const hour = Math.floor(at / hourMs)
  // Some people type passwords as names: a name without a user is not stored.
  const [user] = yield ask('SELECT name FROM "user" WHERE name = ?', name)
  const known = user ? name : ''
  if ((yield ask(addOne, at, hour, known, remote, way)).length > 0) return null
  const [row] = yield ask('SELECT count(*) AS rows FROM refused_sign_in WHERE hour = ?', hour)
  const count = row ? whole(row, 'rows') : 0
  if (count === 0) yield ask('DELETE FROM refused_sign_in WHERE hour < ?', hour - hoursKept)
  const place = count < rowsOfHour ? [known, remote, way] : ['', '', '']
  yield ask(insert, hour, ...place, at, at)
  return null
}

/** The latest hour first; within an hour the most frequent. */
export function* listRefused({
  limit,
  since,
  until,
  name,
  remote,
}: RefusedFilter): QueryProgram<{ rows: readonly RefusedSignIns[]; times: number; count: number }> {
  const conditions: (readonly [sql: string, value: Value | undefined])[] = [
    ['hour >= ?', since === undefined ? 0 : Math.floor(since / hourMs)],
    ['hour < ?', until === undefined ? undefined : Math.ceil(until / hourMs)],
    ['name = ?', name],
    ['remote = ?', remote],
  ]
  const used = conditions.filter(([, value]) => value !== undefined)
  const where = used.map(([sql]) => sql).join(' AND ')
  const values = used.map(([, value]) => value as Value)
  const [sums] = yield ask(
    `SELECT count(*) AS count, coalesce(sum(times), 0) AS times FROM refused_sign_in WHERE ${where}`,
    ...values,
  )
  const rows = yield ask(
    `SELECT * FROM refused_sign_in WHERE ${where} ORDER BY hour DESC, times DESC, name, remote, way LIMIT ?`,
    ...values,
    Math.min(Math.max(limit, 0), rowsMax),
  )
  return { rows: rows.map(toRefused), times: sums ? whole(sums, 'times') : 0, count: sums ? whole(sums, 'count') : 0 }
}

function toRefused(row: Row): RefusedSignIns {
  return {
    hour: whole(row, 'hour') * hourMs,
    name: text(row, 'name') || null,
    remote: text(row, 'remote') || null,
    way: text(row, 'way') || null,
    times: whole(row, 'times'),
    firstAt: whole(row, 'first_at'),
    lastAt: whole(row, 'last_at'),
  }
}
