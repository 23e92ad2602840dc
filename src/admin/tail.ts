import { followLog, type LogMatch, logRecord } from '../domain/index.ts'
import type { AdminRequest } from './api.ts'
import { Semaphore } from './semaphore.ts'
import { isSessionOpen } from './session/sessions.ts'

/** After this number of polls a ping is sent, so that proxies do not close the connection. */
const pingEvery = 15
const listeners = { all: 50, each: 10 }

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
    yield 'retry: 3000\n: following\n\n'
    for await (const found of followLog(parts.storage.journal, match, { clock: parts.clock, left })) {
      if (!(await isSessionOpen(request))) return
      for (const one of found) {
        const record = logRecord(one, parts.plan().plugins.known)
        yield `event: log\nid: ${one.row.id}\ndata: ${JSON.stringify(record)}\n\n`
      }
      if (++polls % pingEvery === 0) yield ': ping\n\n'
    }
  }
}
