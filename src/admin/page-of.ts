import type { Awaitable } from '../util/index.ts'

/** One page of rows, and the start of the next. Reads one row more than the page, to find out whether there is one. */
export async function pageOf<Row>(
  limit: number,
  idOf: (row: Row) => string,
  read: (limit: number) => Awaitable<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly next: string | null }> {
  const rows = await read(limit + 1)
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, next: rows.length > limit && last !== undefined ? idOf(last) : null }
}
