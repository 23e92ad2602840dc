import { StorageError } from '../errors.ts'
import type { Reading, Readings } from '../readings.ts'
import type { FromReader, ReaderStart, ToReader } from './messages.ts'
import type { StartThread, StorageThread } from './thread.ts'

type PendingRead = { resolve(value: unknown): void; reject(error: Error): void }

/**
 * Lists, or audits, on their own thread: a page over ten million rows or an audit of all charges never blocks the event
 * loop. The thread starts with the first call.
 */
export class Reader {
  readonly #path: string
  readonly #startThread: StartThread
  readonly #pending = new Map<number, PendingRead>()
  #thread: StorageThread | undefined
  #lastId = 0
  #closed = false

  constructor(path: string, startThread: StartThread) {
    this.#path = path
    this.#startThread = startThread
  }

  ask<R extends Reading>(reading: R, given: Readings[R]['given']): Promise<Readings[R]['gives']> {
    if (this.#closed) return Promise.reject(new StorageError('storage_closed'))
    const thread = (this.#thread ??= this.#launch())
    const id = ++this.#lastId
    return new Promise<Readings[R]['gives']>((resolve, reject) => {
      this.#pending.set(id, { resolve: value => resolve(value as Readings[R]['gives']), reject })
      thread.postMessage({ id, reading, given }, [])
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    const thread = this.#thread
    if (!thread) return
    const ended = new Promise<void>(resolve => thread.once('exit', () => resolve()))
    thread.postMessage({ close: true } satisfies ToReader, [])
    await ended
  }

  #launch(): StorageThread {
    const thread = this.#startThread('reader-thread', { path: this.#path } satisfies ReaderStart)
    let cause: unknown
    thread.on('message', ({ id, value, fault }: FromReader) => {
      const pending = this.#pending.get(id)
      this.#pending.delete(id)
      if (fault === undefined) pending?.resolve(value)
      else pending?.reject(new Error(fault))
    })
    thread.on('error', error => {
      cause = error
    })
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined
      const pending = [...this.#pending.values()]
      this.#pending.clear()
      for (const one of pending) one.reject(new Error('the storage reader stopped', { cause }))
    })
    return thread
  }
}
