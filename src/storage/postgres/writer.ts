import type pg from 'pg'
import type { Ids } from '../../util/index.ts'
import type { Writing } from '../writing.ts'
import { StorageError } from '../errors.ts'
import { begin } from '../ledger/recover.ts'
import type { Recovery } from '../ledger/recovery.ts'
import { forget } from '../ledger/replicas.ts'
import type { Change, Given, Gives, Op } from '../ops.ts'
import type { Scribe } from '../writer-identity.ts'
import { LabelPlaces } from '../label-places.ts'
import { UncompactedBatches } from '../log-batches/uncompacted.ts'
import { WriteQueue, type WriteQueueParts } from '../write-queue.ts'
import { commitGroup, type GroupResult, transact, useClient } from './commit.ts'
import { storageFailure } from './failure.ts'
import { Lanes } from './lanes.ts'

/** Operations of one commit. */
const groupOpsMax = 64
/** Operations that may wait before new charges are refused. */
const waitingMax = 5_000
/** The longest time to open a charge: its client waits, and nothing has been bought yet. */
const holdMs = 2_000
const probeMs = 250

type Waiting = {
  readonly op: Op
  resolve(this: void, value: unknown): void
  reject(this: void, error: Error): void
  /** The caller got an error: the operation is not known to be committed. */
  isGivenUp: boolean
}

export type WriterOptions = WriteQueueParts & {
  readonly pool: pg.Pool
  readonly connectionsMax: number
  readonly owner: string
  readonly host: string
  readonly zone: string
  readonly thresholds: readonly number[]
  readonly ids: Ids
  readonly logPageRows?: number | undefined
}

/**
 * Commits on a few connections. Changes of one key use one lane, a group at a time, as one transaction: requests of one
 * key do not wait for each other's row lock, and do not delay those of other keys. Every promise resolves after its
 * commit is durable; if the database cannot be reached all waiting ones are rejected, and probes find out when it can
 * be again.
 */
export class Writer implements Writing {
  readonly #options: WriterOptions
  readonly #lanes: Lanes<Waiting>
  readonly #writeQueue: WriteQueue
  readonly #chains = new WeakMap<pg.PoolClient, string>()
  #chainCount = 0
  #identity: Scribe

  constructor(options: WriterOptions) {
    const { owner, host, zone, thresholds, ids, logPageRows } = options
    this.#options = options
    this.#writeQueue = new WriteQueue(options, {
      probeMs,
      probe: () => this.submit('probe', null),
      send: () => this.#writeLazy(),
    })
    const own = { owner, host, epoch: 0, chain: owner, part: owner, zone, thresholds }
    this.#identity = { ...own, ids, uncompacted: new UncompactedBatches(logPageRows), labelPlaces: new LabelPlaces() }
    this.#lanes = new Lanes({
      runningMax: options.connectionsMax,
      groupMax: groupOpsMax,
      run: group => this.#commit(group),
    })
  }

  onRecovered(call: () => void): void {
    this.#writeQueue.outage.onRecovered(call)
  }

  trouble(): string | undefined {
    return this.#writeQueue.outage.reason
  }

  healthy(): boolean {
    return this.#writeQueue.healthy
  }

  /** Takes a lease and an epoch, and ends charges that other processes have left. */
  async begin(at: number): Promise<Recovery> {
    const recovery = await useClient(this.#options.pool, client =>
      transact(client, this.#options.clock, () => begin(this.#selfOn(client), at, false)),
    )
    this.#identity = { ...this.#identity, epoch: recovery.epoch }
    return recovery
  }

  submit<C extends Change>(change: C, given: Given<C>): Promise<Gives<C>> {
    if (this.#writeQueue.closed) return Promise.reject(new StorageError('storage_closed'))
    const reason = this.#refusal(change)
    if (reason !== undefined) return Promise.reject(new StorageError('storage_unavailable', { reason }))
    return new Promise<Gives<C>>((resolve, reject) => {
      // The union of operations is by change; TypeScript cannot verify that a generic operation is a member of it.
      const op = { change, given } as Op
      const waiting: Waiting = { op, resolve: value => resolve(value as Gives<C>), reject, isGivenUp: false }
      if (change === 'hold') this.#limit(waiting)
      this.#writeQueue.submitted()
      this.#lanes.add(op, waiting)
    })
  }

  touch(): void {
    this.#writeQueue.touch()
  }

  flush(): Promise<void> {
    return this.#writeQueue.flush()
  }

  /** Writes pending operations and releases the lease. @throws StorageError `charges_unwritten` */
  async close(waitMs?: number): Promise<void> {
    if (this.#writeQueue.closed) return
    const unwritten = await this.#writeQueue.close(waitMs)
    this.#rejectAll(new StorageError('storage_closed'))
    await this.#releaseLease()
    if (unwritten) throw unwritten
  }

  async #releaseLease(): Promise<void> {
    const { clock, log, pool } = this.#options
    const { owner, epoch } = this.#identity
    if (epoch === 0 || this.#writeQueue.outage.reason !== undefined) return
    await useClient(pool, client => transact(client, clock, () => forget(owner))).catch(error =>
      log.warn({ err: error }, 'the lease of this gateway could not be released; it will expire'),
    )
  }

  #refusal(change: Change): string | undefined {
    if (change === 'probe') return undefined
    if (this.#writeQueue.outage.reason !== undefined) return this.#writeQueue.outage.reason
    return change === 'hold' && this.#lanes.size >= waitingMax ? 'too many charges wait for the database' : undefined
  }

  /** Refuses a charge that has waited for too long, whether or not the database is working on it. */
  #limit(waiting: Waiting): void {
    const { resolve, reject } = waiting
    const limit = this.#options.clock.after(holdMs, () => {
      waiting.isGivenUp = true
      const reason = `the database has not answered in ${holdMs} ms`
      reject(new StorageError('storage_unavailable', { reason }))
    })
    waiting.resolve = value => {
      limit.cancel()
      resolve(value)
    }
    waiting.reject = error => {
      limit.cancel()
      reject(error)
    }
  }

  /** Each connection continues its own chain: no two writers wait for the end of one chain. */
  #selfOn(client: pg.PoolClient): Scribe {
    let chain = this.#chains.get(client)
    if (chain === undefined) this.#chains.set(client, (chain = `${this.#identity.owner}.${++this.#chainCount}`))
    return { ...this.#identity, chain, part: chain }
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    // The caller has given up: operations that have not begun are dropped.
    const wanted = group.filter(waiting => !waiting.isGivenUp)
    this.#writeQueue.finished(group.length - wanted.length)
    if (wanted.length > 0) this.#arrive(wanted, await this.#commitOps(wanted.map(waiting => waiting.op)))
    this.#writeQueue.checkFlushes()
  }

  async #commitOps(ops: readonly Op[]): Promise<GroupResult> {
    let client: pg.PoolClient
    try {
      client = await this.#options.pool.connect()
    } catch (error) {
      return { values: [], faults: [], broken: storageFailure(error) ?? String(error), isLost: true }
    }
    const result = await commitGroup(client, this.#selfOn(client), ops, this.#options.clock)
    client.release(result.isLost)
    return result
  }

  #arrive(group: readonly Waiting[], { values, faults, broken }: GroupResult): void {
    this.#writeQueue.finished(group.length)
    let isMadeUpFor = false
    group.forEach((waiting, at) => {
      const fault = faults[at]
      if (at >= values.length)
        waiting.reject(new StorageError('storage_unavailable', { reason: broken ?? 'not committed' }))
      else if (fault) waiting.reject(fault)
      else {
        if (waiting.op.change === 'beat') this.#keepEpoch((values[at] as Recovery).epoch)
        waiting.resolve(values[at])
      }
      isMadeUpFor ||= waiting.isGivenUp
    })
    this.#reportBlocked(faults)
    if (broken !== undefined) this.#break(broken)
    // The retry queue ends a charge that was opened after its caller had given up.
    else if (isMadeUpFor) this.#writeQueue.outage.recovered()
  }

  /** An administrator can end the other transaction, so its effect is logged. */
  #reportBlocked(faults: GroupResult['faults']): void {
    const blocked = faults.find(fault => fault instanceof StorageError && fault.code === 'storage_unavailable')
    if (!(blocked instanceof StorageError)) return
    const { reason } = blocked.params
    this.#options.log.warn({ reason }, 'a write waited too long for another transaction; see pg_stat_activity')
  }

  #keepEpoch(epoch: number): void {
    if (epoch === this.#identity.epoch) return
    this.#options.log.error({ epoch }, 'this gateway was silent for longer than its lease; its open charges were ended')
    this.#identity = { ...this.#identity, epoch }
    this.#options.logQueue.doubt()
  }

  #writeLazy(): void {
    this.#writeQueue.stopWaiting()
    if (this.#writeQueue.closed || this.#writeQueue.outage.reason !== undefined) return
    const charges = this.#writeQueue.takePost()
    if (charges !== undefined)
      void this.#follow(this.submit('post', { ...charges, at: this.#options.clock.now() }), error =>
        this.#writeQueue.postArrived(error),
      )
    const batch = this.#writeQueue.takeBatch()
    if (batch) void this.#follow(this.submit('batch', batch), error => this.#writeQueue.batchArrived(error))
  }

  /** Handles a write without a caller: reports its result, and then starts the next one. */
  async #follow(written: Promise<null>, arrived: (error: Error | undefined) => void): Promise<void> {
    await written.then(
      () => arrived(undefined),
      (error: Error) => arrived(error),
    )
    this.#writeQueue.checkFlushes()
    if (this.#writeQueue.isFlushing) this.#writeLazy()
    else if (this.#writeQueue.waits) this.touch()
  }

  #break(reason: string): void {
    this.#writeQueue.outage.begin(reason)
    this.#rejectAll(new StorageError('storage_unavailable', { reason }))
    this.#writeQueue.outage.startProbing()
  }

  #rejectAll(error: StorageError): void {
    const waiting = this.#lanes.takeAll()
    this.#writeQueue.finished(waiting.length)
    for (const one of waiting) one.reject(error)
    this.#writeQueue.rejectFlushes(error)
  }
}
