import { followLog, type LogMatch, logRecord } from '../domain/index.ts'
import { firstIdAt, timeOfId } from '../util/index.ts'
import type { AdminRequest } from './api.ts'
import { Semaphore } from './semaphore.ts'
import { isSessionOpen } from './session/sessions.ts'

/** After this number of polls a ping is sent, so that proxies do not close the connection. */
const pingEvery = 15
const listeners = { all: 50, each: 10 }
const prefix = 'req_'

/**
 * New rows of the log as events. While a client is connected, the log is read once a second, so that rows of other
 * replicas are included. Ends when the client disconnects, and before the next row if the session has ended or the role
 * has changed, because access was checked only at the start.
 */
export class Tails {
  readonly #semaphore = new Semaphore(listeners)

  /** @throws Failure busy if too many clients are connected already */
  follow(request: AdminRequest, match: LogMatch): AsyncIterable<string> {
    this.#semaphore.take(request)
    return this.#events(request, match)
  }

  async *#events(request: AdminRequest, match: LogMatch): AsyncIterable<string> {
    const { left, parts } = request
    let polls = 0
    const since = await lastEndOf(request)
    // A client that connects again before its first row names this id.
    yield `retry: 3000\n${since === undefined ? `id: ${firstIdAt(prefix, parts.clock.now())}\n` : ''}: following\n\n`
    const options = { clock: parts.clock, left, ...(since !== undefined && { since }) }
    for await (const found of followLog(parts.storage.journal, match, options)) {
      if (!(await isSessionOpen(request))) return
      for (const one of found) {
        const record = logRecord(one, parts.plan().plugins.known)
        yield `event: log\nid: ${one.row.id}\ndata: ${JSON.stringify(record)}\n\n`
      }
      if (++polls % pingEvery === 0) yield ': ping\n\n'
    }
  }
}

/** The end of the last row that a client received before it connects again; undefined at its first connection. */
async function lastEndOf({ headers, parts }: AdminRequest): Promise<number | undefined> {
  const id = String(headers['last-event-id'] ?? '')
  const began = timeOfId(prefix, id)
  if (Number.isNaN(began)) return undefined
  const [last] = await parts.storage.journal.list({ id, limit: 1 })
  return began + (last?.row.durationMs ?? 0)
}
