import { Kysely, SqliteDialect } from 'kysely'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

/** Kysely over a connection of node:sqlite, which the caller closes. */
export function openKysely<Tables>(db: DatabaseSync): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new SqliteDialect({
      database: {
        close() {},
        prepare(sql) {
          const statement = db.prepare(sql)
          return {
            reader: statement.columns().length > 0,
            all: params => statement.all(...(params as SQLInputValue[])),
            run: params => statement.run(...(params as SQLInputValue[])),
            iterate: params => statement.iterate(...(params as SQLInputValue[])),
          }
        },
      },
    }),
  })
}
