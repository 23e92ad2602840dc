import type { Visitor } from './visitor.ts'

/** A row of the log, as a tail sends it. */
export type Row = {
  readonly id: string
  readonly billing: { readonly text: string; readonly amount: string; readonly state: string } | null
}

/** Follows a tail of the log. */
export async function listen(url: string, visitor: Visitor, query = '', lastId?: string) {
  const stop = new AbortController()
  const headers = { cookie: visitor.cookie, ...(lastId !== undefined && { 'last-event-id': lastId }) }
  const response = await fetch(`${url}/api/logs/tail${query}`, { headers, signal: stop.signal })
  const events: Row[] = []
  const ids: string[] = []
  let ended = false
  const done = (async () => {
    let text = ''
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk as Uint8Array).toString()
        const parts = text.split('\n\n')
        text = parts.pop() ?? ''
        for (const part of parts) {
          const data = /^data: (.*)$/m.exec(part)?.[1]
          const id = /^id: (.*)$/m.exec(part)?.[1]
          if (id !== undefined) ids.push(id)
          if (data !== undefined) events.push(JSON.parse(data) as Row)
        }
      }
    } catch {
      // The follower ended it.
    }
    ended = true
  })()
  return { response, events, ids, isEnded: () => ended, done, stop: () => stop.abort() }
}
