import type { Query, Row, QueryProgram, Value } from './query.ts'

/** Rows of one statement; a statement costs as much as three rows. */
const rowsTogether = 16
/** By table and number of rows. */
const statements = new Map<string, string>()

/** Inserts rows in order, many with one statement. The columns of a table must always be the same. */
export function* insertRows(table: string, columns: readonly string[], rows: readonly Row[]): QueryProgram<void> {
  for (let at = 0; at < rows.length; ) {
    const many = rows.length - at >= rowsTogether ? rowsTogether : 1
    yield insertQuery(table, columns, rows.slice(at, at + many))
    at += many
  }
}

function insertQuery(table: string, columns: readonly string[], rows: readonly Row[]): Query {
  const name = `${table} ${rows.length}`
  let sql = statements.get(name)
  if (sql === undefined) {
    const one = `(${columns.map(() => '?').join(', ')})`
    sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${rows.map(() => one).join(', ')}`
    statements.set(name, sql)
  }
  return { sql, params: rows.flatMap(row => columns.map(column => row[column] as Value)) }
}
