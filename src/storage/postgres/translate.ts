import { hash } from 'node:crypto'
import { lockRows, skipLocked } from '../query.ts'

/**
 * Types and functions of the migrations with other names in PostgreSQL. Ids are compared byte by byte, as in SQLite.
 */
const words: readonly (readonly [RegExp, string])[] = [
  [/\bnumber INTEGER PRIMARY KEY\b/g, 'number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY'],
  [/\bINTEGER PRIMARY KEY AUTOINCREMENT\b/g, 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY'],
  [/\bINTEGER\b/g, 'BIGINT'],
  [/\bTEXT\b/g, 'TEXT COLLATE "C"'],
  [/\bBLOB\b/g, 'BYTEA'],
  [/\) STRICT(?:, WITHOUT ROWID)?$/, ')'],
  [/unixepoch\(\) \* 1000/g, 'now_ms()'],
  // In SQLite an index contains the row's number in addition to its columns.
  [/ \/\* beside: (\w+) \*\/$/, ' INCLUDE ($1)'],
  [/abs\(random\(\) % (\d+)\)/g, 'floor(random() * $1)::bigint'],
]
const trigger =
  /^CREATE TRIGGER (\w+) ((?:BEFORE|AFTER) (?:INSERT|DELETE|UPDATE)(?: OF [\w\s,]+?)?)\s+ON (\S+)\s+(?:WHEN ([\s\S]+?)\s+)?BEGIN\s+([\s\S]+?); END$/
const dropTrigger = /^DROP TRIGGER (\w+)$/

/** A statement of a migration, written for SQLite, translated for PostgreSQL. */
export function translateSchema(statement: string): string {
  const dropped = dropTrigger.exec(statement)
  if (dropped) return `DROP FUNCTION ${dropped[1]}() CASCADE`
  const [, name, when, table, condition, body] = trigger.exec(statement) ?? []
  if (name === undefined || when === undefined || table === undefined || body === undefined) {
    if (statement.startsWith('CREATE TRIGGER')) throw new Error(`a trigger that cannot be translated: ${statement}`)
    return words.reduce((text, [from, to]) => text.replace(from, to), statement)
  }
  const work = body.replace(/^SELECT RAISE\(ABORT, ('[^']+')\)$/, 'RAISE EXCEPTION $1')
  // The condition of a trigger may not read other tables, but its function may.
  const asks = condition?.includes('SELECT') === true
  return `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      ${asks ? `IF ${condition} THEN ${work}; END IF` : work}; RETURN coalesce(NEW, OLD); END $$;
    CREATE TRIGGER ${name} ${when} ON ${table} FOR EACH ROW
      ${condition === undefined || asks ? '' : `WHEN (${condition})`} EXECUTE FUNCTION ${name}()`
}

export type Prepared = {
  /**
   * The name of a prepared statement, derived from its text, so that no two processes use one name for different texts,
   * whatever program pools their connections.
   */
  readonly name: string
  readonly text: string
  /** False for a statement without result rows: the next one need not wait for it. */
  readonly givesRows: boolean
}

const prepared = new Map<string, Prepared>()
/** Differences in queries. Foreign keys may point to a row that is locked in this way. */
const queryWords = [
  [skipLocked, 'FOR UPDATE SKIP LOCKED'],
  [lockRows, 'FOR NO KEY UPDATE'],
  ['now_ms(?)', 'coalesce(now_ms(), ?)'],
  ['instr(', 'strpos('],
] as const

/**
 * A query with `?` for its parameters, numbered for PostgreSQL. No text in a query contains a question mark. Where a
 * query passes the time, PostgreSQL uses its own: processes on one database share one clock.
 */
export function prepare(sql: string): Prepared {
  let found = prepared.get(sql)
  if (!found) {
    let parameters = 0
    const ours = queryWords.reduce((text, [from, to]) => text.replaceAll(from, to), sql)
    const text = ours.replaceAll('?', () => `$${++parameters}`)
    const givesRows = /^\s*(?:SELECT|WITH)\b|\bRETURNING\b/i.test(sql)
    prepared.set(sql, (found = { name: `q${hash('sha1', text)}`, text, givesRows }))
  }
  return found
}
