import { closeSync, existsSync, openSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { StorageError } from '../errors.ts'
import { begin, type Recovery } from '../ledger/recover.ts'
import { forget } from '../ledger/replicas.ts'
import { type Op, stepsOf } from '../ops.ts'
import { ask } from '../query.ts'
import { whole } from '../rows.ts'
import type { Self } from '../self.ts'
import { Connection } from './connect.ts'
import { isFull, storageFailure } from './failure.ts'
import type { Fault, FromWriter, ToWriter, WriterStart } from './messages.ts'
import { migrate } from './migrate.ts'

const start = workerData as WriterStart
const port = parentPort
if (!port) throw new Error('the writer runs as a thread')

const fileGone = 'the database file has been moved or deleted'
const roomEveryMs = 2_000
const room = { nextAt: 0, short: false }
let self: Self

try {
  // A writer that takes the place of another must not begin an empty file where the old one has gone.
  if (start.epoch !== null && !existsSync(start.path)) throw new Error(fileGone)
  makeFile(start.path)
  const connection = new Connection(start.path, start.connect)
  migrate(connection, start.path)
  const recovery = beginOn(connection)
  const { owner, host, chain } = start
  self = { owner, host, chain, epoch: recovery.epoch }
  port.on('message', (message: ToWriter) => {
    if ('close' in message) close(connection)
    else {
      send(commitGroup(connection, message.ops))
      measureRoom()
    }
  })
  measureRoom()
  send({ kind: 'ready', recovery })
} catch (error) {
  send({ kind: 'refused', fault: toFault(error) })
  port.close()
}

function send(message: FromWriter): void {
  port?.postMessage(message)
}

/** Looks every few seconds whether the disk has room, and says so when that has changed. */
function measureRoom(): void {
  const now = performance.now()
  if (now < room.nextAt) return
  room.nextAt = now + roomEveryMs
  // Where the folder has gone, the next group finds that out.
  if (!existsSync(start.path)) return
  const { bavail, bsize } = statfsSync(dirname(start.path))
  const short = bavail * bsize < start.diskBytesMin
  if (short === room.short) return
  room.short = short
  const megabytes = Math.floor((bavail * bsize) / 1_048_576)
  send({ kind: 'room', short: short ? `only ${megabytes} MiB are free on the disk` : undefined })
}

function beginOn(connection: Connection): Recovery {
  const { epoch, beginAt, isAlone } = start
  if (epoch !== null) return { epoch, settled: 0, toReview: 0 }
  if (beginAt !== null) return connection.transact(() => connection.run(begin(start, beginAt, isAlone)))
  const [meta] = connection.all(ask(`SELECT value FROM meta WHERE name = 'epoch'`))
  return { epoch: meta ? whole(meta, 'value') : 0, settled: 0, toReview: 0 }
}

function close(connection: Connection): void {
  try {
    if (start.beginAt !== null) connection.transact(() => connection.run(forget(start.owner)))
    connection.db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // Somebody still reads, or the disk is full; what is in the log is durable and the next one to open finds it.
  }
  connection.close()
  port?.close()
}

type Group = Extract<FromWriter, { kind: 'group' }>

/** All operations in one transaction; when one of them fails, each in its own, so that its neighbours do not. */
function commitGroup(connection: Connection, ops: readonly Op[]): Group {
  if (!connection.isFileThere()) return broken(fileGone)
  const together = commit(connection, ops)
  if (!together.error) return { kind: 'group', values: together.values, faults: [], broken: undefined }
  const reason = storageFailure(together.error)
  // The log may find the disk full where the charges do not.
  const retry = reason === undefined || (isFull(together.error) && ops.some(op => op.change === 'batch'))
  return retry ? commitApart(connection, ops) : broken(reason)
}

function commitApart(connection: Connection, ops: readonly Op[]): Group {
  const values: unknown[] = []
  const faults: (Fault | undefined)[] = []
  for (const op of ops) {
    const { values: own, error } = commit(connection, [op])
    const reason = storageFailure(error)
    if (reason !== undefined && op.change !== 'batch') return broken(reason, values, faults)
    values.push(own[0])
    faults.push(error && toFault(error))
  }
  return { kind: 'group', values, faults, broken: undefined }
}

function commit(connection: Connection, ops: readonly Op[]): { values: unknown[]; error: Error | undefined } {
  try {
    const values = connection.transact(() => ops.map(op => connection.run(stepsOf(op.change, op.given as never, self))))
    // A process that has lost its lease goes on in another epoch.
    ops.forEach((op, at) => {
      if (op.change === 'beat') self = { ...self, epoch: (values[at] as Recovery).epoch }
    })
    return { values, error: undefined }
  } catch (error) {
    return { values: [], error: error instanceof Error ? error : new Error(String(error)) }
  }
}

function broken(reason: string, values: readonly unknown[] = [], faults: readonly (Fault | undefined)[] = []): Group {
  return { kind: 'group', values, faults, broken: reason }
}

/** SQLite would make it everybody's to read; its log gets the mode of the file. A group may share it. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o640))
  } catch {
    // It is there, or SQLite will say why it cannot be.
  }
}

function toFault(error: unknown): Fault {
  if (error instanceof StorageError) return { message: error.message, code: error.code }
  const reason = storageFailure(error)
  if (reason !== undefined) return { message: `the storage cannot be written: ${reason}`, code: 'storage_unavailable' }
  return { message: error instanceof Error ? error.message : String(error) }
}
