import { EventEmitter } from 'node:events'
import type { StartThread } from '../../../src/storage/sqlite/thread.ts'
import { runReader } from '../../../src/storage/sqlite/reader-core.ts'
import { runWriter, type WriterParts } from '../../../src/storage/sqlite/writer-core.ts'
import { type Process, runAs, runningProcess } from './process.ts'
import type { Random } from './random.ts'
import type { FaultyDisk } from './storage.ts'
import type { Time } from './time.ts'

type Core = (workerData: never, port: never, parts: WriterParts) => void
const cores: { readonly [name: string]: Core } = { 'writer-thread': runWriter, 'reader-thread': runReader }

export type ThreadParts = {
  readonly time: Time
  readonly random: Random
  readonly disk: FaultyDisk
  note(fault: string): void
}

/** Commits of a database whose acknowledgement is on its way. */
export type Acknowledged = {
  /** Number of groups that are committed but not acknowledged. */
  untold: number
}

/**
 * Simulated threads: they run the real code on the real file, in this process; messages are cloned and delayed, in
 * order, and a writer may die before a group or after its commit.
 */
export function createThreads(parts: ThreadParts, path: string, acknowledged: Acknowledged): StartThread {
  return (name, workerData) => {
    // Small pages of the log, so that even a short play fills some.
    const start = { ...(workerData as object), logPageRows: 12 }
    const thread = new SimThread(name, start, parts, path, acknowledged)
    return thread.outside as unknown as ReturnType<StartThread>
  }
}

class SimThread {
  readonly outside: EventEmitter
  readonly #inside = new EventEmitter()
  readonly #name: string
  readonly #parts: ThreadParts
  readonly #process: Process | undefined = runningProcess()
  readonly #path: string
  readonly #acknowledged: Acknowledged
  #early: unknown[] | undefined = []
  #gone = false
  #mute = false
  #lastAt = 0

  constructor(name: string, workerData: unknown, parts: ThreadParts, path: string, acknowledged: Acknowledged) {
    this.#name = name
    this.#parts = parts
    this.#path = path
    this.#acknowledged = acknowledged
    this.outside = Object.assign(new EventEmitter(), {
      postMessage: (message: unknown) => this.#take(message),
      terminate: () => {
        this.#exit()
        return Promise.resolve(0)
      },
    })
    const port = Object.assign(this.#inside, {
      postMessage: (message: unknown) => this.#tell(message),
      close: () => this.#exit(),
    })
    const core = cores[name]
    if (!core) throw new Error(`there is no thread '${name}'`)
    this.#later(5 + parts.random.int(20), 'start', () => {
      try {
        core(workerData as never, port as never, { clock: { tick: () => parts.time.tick }, random: parts.random })
      } catch (error) {
        this.outside.emit('error', error)
        return this.#exit()
      }
      const early = this.#early ?? []
      this.#early = undefined
      for (const message of early) this.#take(message)
    })
  }

  get #isWriter(): boolean {
    return this.#name === 'writer-thread'
  }

  #later(ms: number, label: string, run: () => void): void {
    this.#parts.time.after(ms, `${this.#name} ${label}`, run, this.#process ?? null)
  }

  /** Messages between two threads keep their order. */
  #latency(): number {
    const { time, random, disk } = this.#parts
    const ms = 0.05 + random.unit() * 2 + random.unit() * disk.now.slowMs
    this.#lastAt = Math.max(this.#lastAt + 0.001, time.tick + ms)
    return this.#lastAt - time.tick
  }

  #take(message: unknown): void {
    if (this.#gone) return
    if (this.#early) return void this.#early.push(message)
    const copy: unknown = structuredClone(message)
    this.#later(this.#latency(), 'is told', () => this.#work(copy))
  }

  #work(message: unknown): void {
    if (this.#gone) return
    const { random, disk } = this.#parts
    const note = (fault: string): void => this.#parts.note(fault)
    const isGroup = this.#isWriter && typeof message === 'object' && message !== null && 'ops' in message
    if (isGroup && random.chance(disk.now.dieBefore)) {
      note('writer dies before a group')
      return this.#exit()
    }
    this.#mute = isGroup && random.chance(disk.now.dieAfter)
    this.#inside.emit('message', message)
    if (!this.#mute) return
    note('writer dies behind a commit')
    this.#exit()
  }

  #tell(message: unknown): void {
    if (this.#gone || this.#mute) return
    const copy: unknown = structuredClone(message)
    const recorded = this.#isWriter ? this.#parts.disk.recordOf(this.#path) : undefined
    const mark = recorded?.mark ?? 0
    if (this.#isWriter) this.#acknowledged.untold++
    this.#later(this.#latency(), 'tells', () => {
      if (this.#isWriter) {
        recorded?.acknowledge(mark)
        this.#acknowledged.untold--
      }
      this.outside.emit('message', copy)
    })
  }

  #exit(): void {
    if (this.#gone) return
    this.#gone = true
    this.#later(0.1, 'exits', () => runAs(this.#process, () => this.outside.emit('exit', 0)))
  }
}
