import type { Kysely } from 'kysely'

type Migration = { up(db: Kysely<unknown>): Promise<void> }

/** Every migration, oldest first, loaded when it is needed. A schema is as new as the number of its migrations. */
export const migrations: { readonly [name: string]: () => Promise<Migration> } = {
  '0001-start': () => import('./0001-start.ts'),
}

export const schemaVersion = Object.keys(migrations).length
