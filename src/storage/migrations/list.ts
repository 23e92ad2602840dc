import { start } from './0001-start.ts'
import { people } from './0002-people.ts'
import { replicas } from './0003-replicas.ts'
import { lists } from './0004-lists.ts'
import { reviews } from './0005-reviews.ts'
import { segments } from './0006-segments.ts'
import { bindOldLog, logPages } from './0007-log-pages.ts'
import { keyChanges } from './0008-key-changes.ts'
import { jobs } from './0009-jobs.ts'
import { told } from './0010-told.ts'
import type { QueryProgram } from '../query.ts'

/**
 * Every migration as its statements, oldest first, for both databases: they are written as SQLite has them and translated
 * for PostgreSQL. A schema is as new as the number of its migrations.
 */
export const migrations: readonly (readonly string[])[] = [
  start,
  people,
  replicas,
  lists,
  reviews,
  segments,
  logPages,
  keyChanges,
  jobs,
  told,
]

/** What no statement can say, by the number of the migration that it belongs behind. */
export const moves: { readonly [version: number]: () => QueryProgram<void> } = { 7: bindOldLog }
