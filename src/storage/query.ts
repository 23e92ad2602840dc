/** Values of a database. Whole numbers only; bytes as Uint8Array. */
export type Value = string | number | null | Uint8Array
/** SQL with `?` for each parameter, in order; a driver may renumber them. */
export type Query = { readonly sql: string; readonly params: readonly Value[] }
export type Row = { readonly [column: string]: Value | undefined }
export type Rows = readonly Row[]

/**
 * Work on the database, written once for every driver: it yields queries and receives their rows. A driver runs it
 * inside one transaction, synchronously (SQLite) or with awaits (PostgreSQL). Conditional writes use `RETURNING`, so
 * that the rows returned are the rows changed.
 */
export type QueryProgram<T> = Generator<Query, T, Rows>

export function ask(sql: string, ...params: readonly Value[]): Query {
  return { sql, params }
}

/** Follows a SELECT of rows that another process may be changing: PostgreSQL skips those; SQLite has one writer. */
export const skipLocked = '/* skip locked */'

/**
 * Follows a SELECT of rows that are written next: PostgreSQL locks them in the order of the query; SQLite has one
 * writer.
 */
export const lockRows = '/* lock rows */'
