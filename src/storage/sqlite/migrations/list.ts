import { start } from './0001-start.ts'
import { people } from './0002-people.ts'

/** Every migration as its statements, oldest first. A schema is as new as the number of its migrations. */
export const migrations: readonly (readonly string[])[] = [start, people]
