import { start } from './0001-start.ts'

/** Every migration as its statements, oldest first. A schema is as new as the number of its migrations. */
export const migrations: readonly (readonly string[])[] = [start]
