import { ask, type Steps, type Value } from '../query.ts'
import { logColumns } from '../rows.ts'

const insert = `INSERT INTO log (${logColumns.join(', ')}) VALUES (${logColumns.map(() => '?').join(', ')})
  ON CONFLICT (id) DO NOTHING`
const timeAt = logColumns.indexOf('time')
const keyAt = logColumns.indexOf('key_id')

/** Writes rows given as one flat list of values, and notes when each key was last used. */
export function* writeLogs(values: readonly Value[]): Steps<null> {
  const usedAt = new Map<string, number>()
  for (let at = 0; at < values.length; at += logColumns.length) {
    const row = values.slice(at, at + logColumns.length)
    yield { sql: insert, params: row }
    const key = row[keyAt]
    if (typeof key === 'string') usedAt.set(key, Math.max(usedAt.get(key) ?? 0, Number(row[timeAt])))
  }
  for (const [key, at] of usedAt) {
    yield ask('UPDATE key SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, 0) < ?', at, key, at)
  }
  return null
}
