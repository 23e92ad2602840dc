import { closeSync, existsSync, openSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../../util/clock.ts'
import { Ids } from '../../util/ids.ts'
import { type Random, systemRandom } from '../../util/random.ts'
import { StorageError } from '../errors.ts'
import { begin } from '../ledger/recover.ts'
import type { Recovery } from '../ledger/recovery.ts'
import { forget } from '../ledger/replicas.ts'
import { type Op, stepsOf } from '../ops.ts'
import { LabelPlaces } from '../label-places.ts'
import { UncompactedBatches } from '../log-batches/uncompacted.ts'
import { ask } from '../query.ts'
import { whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import type { Connection } from './connect.ts'
import { isFull, openingFailure, storageFailure } from './failure.ts'
import type { Fault, FromWriter, Port, ToWriter, WriterStart } from './messages.ts'
import { openCurrent, refuseNewer } from './migrate.ts'

const fileGone = 'the database file has been moved or deleted'
const roomEveryMs = 2_000

/** A writer's dependencies besides its messages; a thread uses those of the system. */
export type WriterParts = { readonly clock: Pick<Clock, 'tick'>; readonly random: Pick<Random, 'bytes'> }

const ofTheSystem: WriterParts = { clock: systemClock, random: systemRandom }

/** Migrates the file, recovers open charges, and commits each group from `port`, until it closes. */
export function runWriter(start: WriterStart, port: Port<ToWriter, FromWriter>, parts = ofTheSystem): void {
  new WriterCore(start, port, parts).begin()
}

class WriterCore {
  readonly #start: WriterStart
  readonly #port: Port<ToWriter, FromWriter>
  readonly #clock: Pick<Clock, 'tick'>
  readonly #ids: Ids
  readonly #room = { nextAt: 0, short: false }
  #identity!: Scribe

  constructor(start: WriterStart, port: Port<ToWriter, FromWriter>, { clock, random }: WriterParts) {
    this.#start = start
    this.#port = port
    this.#clock = clock
    this.#ids = new Ids(random)
  }

  begin(): void {
    const { path, epoch, connect, owner, host, chain, part, zone, thresholds, isAlone, logPageRows } = this.#start
    try {
      // A writer that replaces another must not create an empty file if the old one was deleted.
      if (epoch !== null && !statSync(path, { throwIfNoEntry: false })) throw new Error(fileGone)
      makeFile(path)
      const connection = openCurrent(path, { ...connect, isOwn: isAlone })
      const recovery = this.#beginOn(connection)
      const self = { owner, host, chain, part, zone, thresholds, epoch: recovery.epoch }
      const counts = { uncompacted: new UncompactedBatches(logPageRows), labelPlaces: new LabelPlaces() }
      this.#identity = { ...self, ids: this.#ids, ...counts }
      this.#port.on('message', message => {
        if ('close' in message) return this.#close(connection)
        this.#port.postMessage(this.#commitGroup(connection, message.ops), [])
        this.#measureRoom()
      })
      this.#measureRoom()
      this.#port.postMessage({ kind: 'ready', recovery }, [])
    } catch (error) {
      this.#port.postMessage({ kind: 'refused', fault: toFault(error, error => openingFailure(error, path)) }, [])
      this.#port.close()
    }
  }

  /** Checks every few seconds whether the disk has room, and reports changes. */
  #measureRoom(): void {
    const now = this.#clock.tick()
    if (now < this.#room.nextAt) return
    this.#room.nextAt = now + roomEveryMs
    const { path, diskBytesMin } = this.#start
    // If the folder was deleted, the next group reports that.
    if (!existsSync(path)) return
    const { bavail, bsize } = statfsSync(dirname(path))
    const short = bavail * bsize < diskBytesMin
    if (short === this.#room.short) return
    this.#room.short = short
    const megabytes = Math.floor((bavail * bsize) / 1_048_576)
    const shortage = short ? `only ${megabytes} MiB are free on the disk` : undefined
    this.#port.postMessage({ kind: 'room', short: shortage }, [])
  }

  #beginOn(connection: Connection): Recovery {
    const { epoch, beginAt, isAlone } = this.#start
    if (epoch !== null) return { epoch, settled: 0, voided: 0, toReview: 0 }
    if (beginAt !== null) return connection.transact(() => connection.run(begin(this.#start, beginAt, isAlone)))
    const [meta] = connection.all(ask(`SELECT value FROM meta WHERE name = 'epoch'`))
    return { epoch: meta ? whole(meta, 'value') : 0, settled: 0, voided: 0, toReview: 0 }
  }

  #close(connection: Connection): void {
    const { beginAt, owner } = this.#start
    try {
      if (beginAt !== null) connection.transact(() => connection.run(forget(owner)))
      connection.db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // A reader is still open, or the disk is full; the data in the log is durable and the next process to open the
      // file finds it.
    }
    connection.close()
    this.#port.close()
  }

  /** Why the file at the path is not the opened one; undefined if it is. */
  #whyLost(connection: Connection): string | undefined {
    try {
      return connection.isFileThere() ? undefined : fileGone
    } catch (error) {
      return openingFailure(error, this.#start.path) ?? String(error)
    }
  }

  /** Runs all operations in one transaction; if one of them fails, runs each in its own, so that the others succeed. */
  #commitGroup(connection: Connection, ops: readonly Op[]): Group {
    const lost = this.#whyLost(connection)
    if (lost !== undefined) return broken(lost)
    const together = this.#commit(connection, ops)
    if (!together.error) return { kind: 'group', values: together.values, faults: [], broken: undefined }
    const reason = failureOf(together.error)
    // The log may find the disk full when the charges do not.
    const retry = reason === undefined || (isFull(together.error) && ops.some(op => op.change === 'batch'))
    return retry ? this.#commitApart(connection, ops) : broken(reason)
  }

  #commitApart(connection: Connection, ops: readonly Op[]): Group {
    const values: unknown[] = []
    const faults: (Fault | undefined)[] = []
    for (const op of ops) {
      const { values: own, error } = this.#commit(connection, [op])
      const reason = failureOf(error)
      if (reason !== undefined && op.change !== 'batch') return broken(reason, values, faults)
      values.push(own[0])
      faults.push(error && toFault(error))
    }
    return { kind: 'group', values, faults, broken: undefined }
  }

  #commit(connection: Connection, ops: readonly Op[]): { values: unknown[]; error: Error | undefined } {
    try {
      const identity = this.#identity
      const work = () => {
        refuseNewer(connection, this.#start.path)
        return ops.map(op => connection.run(stepsOf(op.change, op.given as never, identity)))
      }
      const values = ops.some(isErasing) ? connection.transactErasing(work) : connection.transact(work)
      // A process that has lost its lease continues in another epoch.
      ops.forEach((op, at) => {
        if (op.change === 'beat') this.#identity = { ...this.#identity, epoch: (values[at] as Recovery).epoch }
      })
      return { values, error: undefined }
    } catch (error) {
      return { values: [], error: error instanceof Error ? error : new Error(String(error)) }
    }
  }
}

type Group = Extract<FromWriter, { kind: 'group' }>

/** Data that these operations delete is overwritten in the file. */
function isErasing({ change }: Op): boolean {
  return change === 'closeUser' || change === 'eraseUser' || change === 'eraseLogs' || change === 'eraseLate'
}

function broken(reason: string, values: readonly unknown[] = [], faults: readonly (Fault | undefined)[] = []): Group {
  return { kind: 'group', values, faults, broken: reason }
}

/** SQLite would make the file readable for everyone; its log gets the mode of the file. A group may share it. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o640))
  } catch {
    // The file exists, or SQLite reports the error.
  }
}

/** Why nothing can be written at all; undefined if the error belongs to one operation. */
function failureOf(error: unknown): string | undefined {
  return error instanceof StorageError && error.code === 'storage_newer' ? error.message : storageFailure(error)
}

function toFault(error: unknown, reasonOf = storageFailure): Fault {
  const reason = reasonOf(error)
  const known = reason === undefined ? error : new StorageError('storage_unavailable', { reason })
  if (known instanceof StorageError) return { message: known.message, code: known.code, params: known.params }
  return { message: error instanceof Error ? error.message : String(error) }
}
