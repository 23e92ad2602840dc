import { type AdminRequest, Reply } from './api.ts'
import { needOpenSession } from './session/sessions.ts'

/** From this number of rows on, a list is written in parts. */
const rowsAtOnce = 1_000

/**
 * A response with all rows of a list, for clients that request no page. Very many rows are written a page at a time at
 * the speed of the client: as one value, they would block the gateway's requests. `rest`: the members after the rows,
 * called once all pages are read.
 */
export async function wholeList<Name extends string, Row extends object, Rest extends object>(
  request: AdminRequest,
  name: Name,
  pages: AsyncIterable<readonly Row[]>,
  rest: () => Rest,
): Promise<Reply | ({ readonly [member in Name]: readonly Row[] } & Rest)> {
  const each = pages[Symbol.asyncIterator]()
  const rows: Row[] = []
  while (rows.length <= rowsAtOnce) {
    const { done, value } = await each.next()
    if (done === true) return { [name]: rows, ...rest() } as { readonly [member in Name]: readonly Row[] } & Rest
    rows.push(...value)
  }
  async function* parts(): AsyncIterable<string> {
    yield `{${JSON.stringify(name)}:[${listed(rows)}`
    for (let page = await each.next(); page.done !== true; page = await each.next()) {
      // Access was checked only at the start. An error, so that the list is not taken for a complete one.
      await needOpenSession(request, { evenIdle: true })
      if (request.left.aborted) return
      if (page.value.length > 0) yield `,${listed(page.value)}`
    }
    yield `],${JSON.stringify(rest()).slice(1)}`
  }
  return new Reply(200, { 'content-type': 'application/json; charset=utf-8' }, parts())
}

function listed(rows: readonly object[]): string {
  return JSON.stringify(rows).slice(1, -1)
}
