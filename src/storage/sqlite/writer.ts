import type { Writing } from '../writing.ts'
import { StorageError } from '../errors.ts'
import type { Recovery } from '../ledger/recovery.ts'
import type { Change, Given, Gives, Op } from '../ops.ts'
import type { Fault, FromWriter, ToWriter, WriterStart } from './messages.ts'
import type { StartThread, StorageThread } from './thread.ts'
import { WriteQueue, type WriteQueueParts } from '../write-queue.ts'

/**
 * Operations of one commit. More operations wait for the next: a group is one turn of the writer, and its first
 * operation waits for its last.
 */
const groupOpsMax = 512
const probeMs = 500
/** After this time a commit counts as hung. It is longer than the wait for another process's write. */
const hangMs = 6_000
const closeMs = 10_000

type Waiting = { readonly op: Op; resolve(value: unknown): void; reject(error: Error): void }

export type WriterOptions = WriteQueueParts & {
  readonly start: WriterStart
  readonly startThread: StartThread
}

/**
 * Commits on its own thread, a group at a time: while one group syncs, the next one gathers. Every promise resolves
 * after its commit is durable; if the storage cannot be written all waiting ones are rejected, and probes find out when
 * it can be written again.
 */
export class Writer implements Writing {
  readonly #options: WriterOptions
  readonly #writeQueue: WriteQueue
  #thread: StorageThread | undefined
  #starting: Promise<Recovery> | undefined
  #ready = false
  #epoch: number | null
  #queue: Waiting[] = []
  #inFlight: Waiting[] | undefined
  #sentAt = 0
  #pumping = false
  #short: string | undefined

  constructor(options: WriterOptions) {
    this.#options = options
    this.#writeQueue = new WriteQueue(options, {
      probeMs,
      probe: () => this.submit('probe', null),
      send: lazily => (lazily ? this.#pump({ lazy: true }) : this.#pumpSoon()),
    })
    this.#epoch = options.start.epoch
  }

  healthy(): boolean {
    if (this.#short !== undefined || !this.#writeQueue.healthy) return false
    return this.#inFlight === undefined || this.#options.clock.tick() - this.#sentAt < hangMs
  }

  trouble(): string | undefined {
    return this.#writeQueue.outage.reason ?? this.#short
  }

  /** Sets the callback for each time that writing works again. */
  onRecovered(call: () => void): void {
    this.#writeQueue.outage.onRecovered(call)
  }

  /** Starts the thread, which migrates the schema and recovers open charges. */
  start(): Promise<Recovery> {
    this.#starting ??= this.#launch()
    return this.#starting
  }

  /** Resolves after the commit. @throws StorageError `storage_unavailable` if it is not known to have happened. */
  submit<C extends Change>(change: C, given: Given<C>): Promise<Gives<C>> {
    if (this.#writeQueue.closed) return Promise.reject(new StorageError('storage_closed'))
    return new Promise<Gives<C>>((resolve, reject) => {
      this.#writeQueue.submitted()
      // The union of operations is by change; TypeScript cannot verify that a generic operation is a member of it.
      const op = { change, given } as Op
      this.#queue.push({ op, resolve: value => resolve(value as Gives<C>), reject })
      this.#pumpSoon()
    })
  }

  touch(): void {
    this.#writeQueue.touch()
  }

  flush(): Promise<void> {
    return this.#writeQueue.flush()
  }

  /** Writes pending operations, then ends the thread. @throws StorageError `charges_unwritten` */
  async close(waitMs?: number): Promise<void> {
    if (this.#writeQueue.closed) return
    const unwritten = await this.#writeQueue.close(waitMs)
    this.#rejectAll(new StorageError('storage_closed'))
    if (this.#thread) await this.#endThread(this.#thread)
    if (unwritten) throw unwritten
  }

  async #endThread(thread: StorageThread): Promise<void> {
    const ended = new Promise<void>(resolve => thread.once('exit', () => resolve()))
    const giveUp = this.#options.clock.after(closeMs, () => void thread.terminate())
    thread.postMessage({ close: true } satisfies ToWriter, [])
    await ended
    giveUp.cancel()
  }

  #launch(): Promise<Recovery> {
    const { start, startThread } = this.#options
    const workerData: WriterStart = { ...start, epoch: this.#epoch }
    const thread = startThread('writer-thread', workerData)
    this.#thread = thread
    let isRefused = false
    return new Promise((resolve, reject) => {
      thread.on('message', (message: FromWriter) => {
        if (message.kind === 'group') return this.#arrive(message)
        if (message.kind === 'room') return this.#arriveRoom(message.short)
        if (message.kind === 'refused') {
          isRefused = true
          return reject(toError(message.fault))
        }
        this.#epoch = message.recovery.epoch
        this.#ready = true
        resolve(message.recovery)
        this.#pumpSoon()
      })
      thread.on('error', error => this.#options.log.error({ err: error }, 'the storage writer failed'))
      thread.on('exit', () => {
        reject(new StorageError('storage_unavailable', { reason: 'the writer stopped' }))
        this.#lose(thread, isRefused)
      })
    })
  }

  /**
   * The thread has ended: its operations may or may not be committed. A thread that was refused had no operations, and
   * has reported the reason.
   */
  #lose(thread: StorageThread, isRefused: boolean): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    this.#starting = undefined
    this.#ready = false
    if (!this.#writeQueue.closed && !isRefused) this.#break('the writer stopped')
  }

  #pumpSoon(): void {
    if (this.#pumping) return
    this.#pumping = true
    // The operations of one turn form one group.
    queueMicrotask(() => {
      this.#pumping = false
      this.#pump()
    })
  }

  #pump({ lazy = false } = {}): void {
    if (this.#writeQueue.closed || this.#inFlight !== undefined) return
    const { waits, full, isFlushing } = this.#writeQueue
    const due = waits && (lazy || full || isFlushing)
    if (this.#queue.length === 0 && (!due || this.#writeQueue.outage.reason !== undefined)) return
    if (!this.#ready) {
      this.start().catch(error => this.#break(error instanceof Error ? error.message : String(error)))
      return
    }
    const group = this.#queue.splice(0, groupOpsMax)
    const ops = group.map(waiting => waiting.op)
    const charges = this.#writeQueue.outage.reason === undefined ? this.#writeQueue.takePost() : undefined
    if (charges !== undefined) ops.push({ change: 'post', given: { ...charges, at: this.#options.clock.now() } })
    const batch = this.#writeQueue.outage.reason === undefined ? this.#writeQueue.takeBatch() : undefined
    if (batch) ops.push({ change: 'batch', given: batch })
    this.#inFlight = group
    this.#sentAt = this.#options.clock.tick()
    this.#thread?.postMessage({ ops } satisfies ToWriter, [])
  }

  #arrive({ values, faults, broken }: Extract<FromWriter, { kind: 'group' }>): void {
    const group = this.#inFlight ?? []
    this.#inFlight = undefined
    this.#writeQueue.finished(group.length)
    const errorAt = (at: number): Error | undefined => {
      if (at >= values.length) return new StorageError('storage_unavailable', { reason: broken ?? 'not committed' })
      const fault = faults[at]
      return fault && toError(fault)
    }
    group.forEach((waiting, at) => {
      const error = errorAt(at)
      if (error) waiting.reject(error)
      else waiting.resolve(values[at])
    })
    let at = group.length
    if (this.#writeQueue.hasPost) this.#writeQueue.postArrived(errorAt(at++))
    if (this.#writeQueue.hasBatch) this.#writeQueue.batchArrived(errorAt(at))
    // The log may find no room when the charges did.
    const reason = broken ?? faults.find(fault => fault?.code === 'storage_unavailable')?.params?.['reason']
    if (reason !== undefined) this.#break(String(reason))
    this.#writeQueue.checkFlushes()
    this.#pump()
    if (this.#writeQueue.waits) this.touch()
  }

  /** Open charges continue; new charges wait until there is room. */
  #arriveRoom(short: string | undefined): void {
    const { log } = this.#options
    if (short === undefined) log.info({}, 'the disk has space again')
    else log.error({ reason: short }, 'the disk is nearly full; billable requests are refused')
    this.#short = short
    if (short !== undefined) this.#startProbing()
  }

  #startProbing(): void {
    // The probe also finds out when there is room again.
    this.#writeQueue.outage.startProbing(() => this.#short !== undefined)
  }

  #break(reason: string): void {
    this.#writeQueue.outage.begin(reason)
    const unavailable = new StorageError('storage_unavailable', { reason })
    if (this.#writeQueue.hasPost) this.#writeQueue.postArrived(unavailable)
    if (this.#writeQueue.hasBatch) this.#writeQueue.batchArrived(unavailable)
    this.#rejectAll(unavailable)
    this.#startProbing()
  }

  #rejectAll(error: StorageError): void {
    const waiting = [...(this.#inFlight ?? []), ...this.#queue]
    this.#inFlight = undefined
    this.#queue = []
    this.#writeQueue.finished(waiting.length)
    for (const one of waiting) one.reject(error)
    this.#writeQueue.rejectFlushes(error)
  }
}

function toError(fault: Fault): Error {
  return fault.code === undefined ? new Error(fault.message) : new StorageError(fault.code, fault.params)
}
