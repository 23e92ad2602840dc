import { DatabaseSync } from 'node:sqlite'
import type { CellKind, TableLayout } from '../copy/source-and-target.ts'
import { migrations, moves } from '../migrations/list.ts'
import type { QueryProgram, Rows } from '../query.ts'

/** Tables of one database alone: its running processes, and the rows that prove free space. */
const notCopied = new Set(['replica', 'probe'])

const kinds: { readonly [type: string]: CellKind } = { TEXT: 'text', INTEGER: 'whole', BLOB: 'bytes' }

/**
 * Every table of this version whose rows are copied, each after those that its rows reference; the order is the same on
 * PostgreSQL.
 */
export function readLayout(): readonly TableLayout[] {
  const db = new DatabaseSync(':memory:')
  const all = (sql: string, ...params: readonly (string | number | null | Uint8Array)[]): Rows =>
    db.prepare(sql).all(...params) as Rows
  try {
    for (const migration of migrations) {
      for (const statement of migration) db.exec(statement)
      const move = moves.get(migration)
      if (move) run(move(), all)
    }
    const names = all(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`)
    const tables = names.map(({ name }) => String(name)).filter(name => !notCopied.has(name))
    return inOrder(tables, name =>
      all('SELECT "table" AS name FROM pragma_foreign_key_list(?)', name).map(row => String(row['name'])),
    ).map(name => layoutOf(name, all('SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid', name)))
  } finally {
    db.close()
  }
}

function layoutOf(name: string, columns: Rows): TableLayout {
  const key = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a['pk']) - Number(b['pk']))
  if (key.length === 0) throw new Error(`the table ${name} has no key to go through it by`)
  return {
    name,
    columns: columns.map(column => {
      const kind = kinds[String(column['type'])]
      if (!kind) throw new Error(`${name}.${String(column['name'])} is of a type that cannot be copied`)
      return { name: String(column['name']), kind }
    }),
    key: key.map(column => String(column['name'])),
  }
}

/** Each name after those that it needs. */
function inOrder(names: readonly string[], needs: (name: string) => readonly string[]): readonly string[] {
  const ordered = new Set<string>()
  const add = (name: string): void => {
    if (ordered.has(name)) return
    for (const needed of needs(name)) if (needed !== name) add(needed)
    ordered.add(name)
  }
  for (const name of names) add(name)
  return [...ordered]
}

function run<T>(
  steps: QueryProgram<T>,
  all: (sql: string, ...params: readonly (string | number | null | Uint8Array)[]) => Rows,
): T {
  let next = steps.next()
  while (next.done !== true) next = steps.next(all(next.value.sql, ...next.value.params))
  return next.value
}
