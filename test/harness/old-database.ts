import { migrations } from '../../src/storage/migrations/list.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'

/** Copies a database into a new one of an earlier version: with its tables and columns, and nothing newer. */
export function copyAsOf(version: number, source: string, path: string): void {
  const old = new Connection(path)
  for (const statement of migrations.slice(0, version).flat()) old.db.exec(statement)
  const listed = (type: 'table' | 'trigger', schema = 'main'): readonly { name: string; sql: string }[] =>
    old
      .all({ sql: `SELECT name, sql FROM ${schema}.sqlite_schema WHERE type = ? ORDER BY rowid`, params: [type] })
      .map(({ name, sql }) => ({ name: String(name), sql: String(sql) }))
  const columnsOf = (schema: string, table: string): readonly string[] =>
    old.all({ sql: `PRAGMA ${schema}.table_info("${table}")`, params: [] }).map(({ name }) => `"${String(name)}"`)

  old.db.exec(`PRAGMA foreign_keys = OFF; ATTACH '${source}' AS source`)
  const known = new Set(listed('table', 'source').map(({ name }) => name))
  const triggers = listed('trigger')
  for (const { name } of triggers) old.db.exec(`DROP TRIGGER "${name}"`)
  for (const { name } of listed('table')) {
    if (name === 'meta' || !known.has(name)) continue
    const now = new Set(columnsOf('source', name))
    const both = columnsOf('main', name).filter(column => now.has(column))
    old.db.exec(`DELETE FROM main."${name}"; INSERT INTO main."${name}" (${both.join(', ')})
      SELECT ${both.join(', ')} FROM source."${name}"`)
  }
  old.db.exec(
    'UPDATE main.meta SET value = coalesce((SELECT s.value FROM source.meta s WHERE s.name = meta.name), value)',
  )
  for (const { sql } of triggers) old.db.exec(sql)
  old.db.exec(`DETACH source; PRAGMA foreign_keys = ON; PRAGMA user_version = ${version}`)
  old.close()
}

/** Before version 39, each charge was added to spans of every length at once. */
export function writeAllSpans(connection: Connection): void {
  const end = 1_536 * 10_000
  connection.db.exec(`UPDATE cost_fold SET folded = ${end}, target = ${end}`)
}
