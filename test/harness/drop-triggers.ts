import type { DatabaseSync } from 'node:sqlite'

/** Drops the triggers that protect rows, as a process that can write the file can. @returns their SQL */
export function dropTriggers(db: DatabaseSync): readonly string[] {
  const triggers = db.prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid`).all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER "${String(name)}"`)
  return triggers.map(({ sql }) => String(sql))
}
