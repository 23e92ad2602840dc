import { EventEmitter } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { StartThread } from '../../src/storage/sqlite/thread.ts'

/** Threads that have finished a part of a storage, and wait for the next one. */
const idle: Worker[] = []

/**
 * Runs a storage's writer or reader as the product does, on a thread of the operating system that nothing else uses
 * meanwhile. At its end, the thread is kept for later use in this process: loading the code of a thread takes longer
 * than most tests that need one.
 */
export const startThread: StartThread = (name, workerData) =>
  // The type of an emitter has more overloads of `on` than the code uses of a worker's.
  new Lent(idle.pop() ?? create(), name, workerData) as unknown as ReturnType<StartThread>

function create(): Worker {
  return new Worker(new URL('./thread-host.ts', import.meta.url), { name: 'storage' })
}

/** A thread while one storage uses it. It emits the same events as a worker would. */
class Lent extends EventEmitter {
  readonly #worker: Worker
  readonly #port: MessagePort

  constructor(worker: Worker, name: string, workerData: unknown) {
    super()
    this.#worker = worker
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const failed = (error: unknown): void => void this.emit('error', error)
    const exited = (code: number): void => {
      worker.off('error', failed)
      port1.close()
      this.emit('exit', code)
    }
    worker.ref()
    worker.on('error', failed).once('exit', exited)
    port1.on('message', message => this.emit('message', message))
    port1.once('close', () => {
      if (!worker.listeners('exit').includes(exited)) return
      worker.off('error', failed).off('exit', exited)
      worker.unref()
      idle.push(worker)
      this.emit('exit', 0)
    })
    worker.postMessage({ name, workerData, port: port2 }, [port2])
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message, [])
  }

  terminate(): Promise<number> {
    return this.#worker.terminate()
  }
}
