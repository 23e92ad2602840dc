import { EventEmitter } from 'node:events'
import { runReader } from '../../../src/storage/sqlite/reader-core.ts'
import type { StartThread } from '../../../src/storage/sqlite/thread.ts'
import { runWriter } from '../../../src/storage/sqlite/writer-core.ts'

type Core = (workerData: never, port: never) => void
const cores: { readonly [name: string]: Core } = { 'writer-thread': runWriter, 'reader-thread': runReader }

/** Runs storage's threads in this process, where their disk operations are observable. */
export const startHere: StartThread = (name, workerData) => {
  const inside = new EventEmitter()
  const outside = new EventEmitter()
  const end = (): void => void setImmediate(() => outside.emit('exit', 0))
  const port = Object.assign(inside, {
    postMessage: (message: unknown) => {
      const copy: unknown = structuredClone(message)
      setImmediate(() => outside.emit('message', copy))
    },
    close: end,
  })
  const thread = Object.assign(outside, {
    postMessage: (message: unknown) => {
      const copy: unknown = structuredClone(message)
      setImmediate(() => inside.emit('message', copy))
    },
    terminate: () => {
      end()
      return Promise.resolve(0)
    },
  })
  setImmediate(() => cores[name]?.(workerData as never, port as never))
  return thread as unknown as ReturnType<StartThread>
}
