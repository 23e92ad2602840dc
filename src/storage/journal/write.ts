import { noteUsed } from '../keys/note-used.ts'
import type { QueryProgram, Value } from '../query.ts'
import { logColumns } from '../rows.ts'

/** Rows of one statement; a statement costs as much as three rows. */
const rowsTogether = 16
const oneRow = `(${logColumns.map(() => '?').join(', ')})`
const insertRows = (rows: number): string =>
  `INSERT INTO log (${logColumns.join(', ')}) VALUES ${Array.from({ length: rows }, () => oneRow).join(', ')}
  ON CONFLICT (id) DO NOTHING`
const insertOne = insertRows(1)
const insertMany = insertRows(rowsTogether)
const timeAt = logColumns.indexOf('time')
const keyAt = logColumns.indexOf('key_id')

/** Writes rows given as the JSON of one flat list of values, and notes when each key was last used. */
export function* writeLogs(text: string): QueryProgram<null> {
  const values = JSON.parse(text) as readonly Value[]
  const usedAt = new Map<string, number>()
  const width = logColumns.length
  for (let at = 0; at < values.length; ) {
    const many = values.length - at >= width * rowsTogether
    const next = at + (many ? width * rowsTogether : width)
    yield { sql: many ? insertMany : insertOne, params: values.slice(at, next) }
    at = next
  }
  for (let at = 0; at < values.length; at += width) {
    const key = values[at + keyAt]
    if (typeof key === 'string') usedAt.set(key, Math.max(usedAt.get(key) ?? 0, Number(values[at + timeAt])))
  }
  yield* noteUsed(usedAt)
  return null
}
