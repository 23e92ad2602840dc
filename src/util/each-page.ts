import type { Awaitable } from './awaitable.ts'

/** All rows of a list, a page at a time. `read` gets the last row of the previous page. */
export async function* eachPage<Row>(
  size: number,
  read: (last: Row | undefined) => Awaitable<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let page: readonly Row[] | undefined
  do {
    page = await read(page?.at(-1))
    yield page
  } while (page.length === size)
}
