import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'

/** Kysely over a pool, which the caller closes. */
export function openKysely<Tables>(pool: pg.Pool): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}
