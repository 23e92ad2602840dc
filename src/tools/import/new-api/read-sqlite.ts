import { DatabaseSync } from 'node:sqlite'
import { type Cell, type ForeignBook, type ForeignTable, wantedTables } from './foreign-book.ts'

/** Reads an SQLite file on one snapshot, without writing. @throws Error if it is not an SQLite file */
export function readSqlite(file: string): ForeignBook {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    db.exec('PRAGMA trusted_schema = OFF; BEGIN')
    const tables = new Map<string, ForeignTable>()
    const counted = new Map<string, number>()
    const names = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`).all()
    for (const { name } of names) {
      const table = String(name)
      if (wantedTables.has(table)) tables.set(table, readTable(db, table))
      else counted.set(table, Number(db.prepare(`SELECT count(*) AS value FROM ${quote(table)}`).get()?.['value'] ?? 0))
    }
    return { tables, counted }
  } finally {
    db.close()
  }
}

function readTable(db: DatabaseSync, table: string): ForeignTable {
  const statement = db.prepare(`SELECT * FROM ${quote(table)}`)
  statement.setReadBigInts(true)
  const columns = statement.columns().map(column => column.name)
  const rows = statement.all().map(row => columns.map(column => toCell(row[column])))
  return { columns, rows }
}

function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (typeof value === 'string') return value
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : null
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
