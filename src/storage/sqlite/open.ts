import { Ids } from '../../util/ids.ts'
import { processName } from '../../util/process-name.ts'
import { diskBytesMin } from '../../util/disk.ts'
import type { Storage } from '../../domain/index.ts'
import { defaultThresholds } from '../../domain/budget.ts'
import { createStorage, type Lists } from '../storage.ts'
import type { StorageOptions } from '../options.ts'
import type { Reading } from '../readings.ts'
import { LogQueue } from '../journal/log-queue.ts'
import { ChargeQueue } from '../ledger/charge-queue.ts'
import { hasEnded } from '../ledger/recovery.ts'
import { Connection, type ConnectOptions } from './connect.ts'
import { isReady } from './migrate.ts'
import { takeLocation } from './location.ts'
import { Reader } from './reader.ts'
import { type StartThread, startThread } from './thread.ts'
import { Writer } from './writer.ts'

/**
 * A process that waits for another one's write looks every 100 ms whether it has ended. Steps of a tool that follow one
 * another directly would block a gateway.
 */
const pauseMs = 120

/** Readings of many rows: they run on their own thread, so that no list waits for them. */
const takesLong = new Set<Reading>([
  'alike',
  'audit',
  'corrections',
  'keyTotals',
  'keyUses',
  'members',
  'objects',
  'pageCharges',
  'statement',
  'totals',
  'usageBy',
  'vendorCosts',
])

export type SqliteOptions = StorageOptions &
  ConnectOptions & {
    /** A path, or `:memory:` for a temporary file that is deleted with the storage. */
    readonly path: string
    readonly diskBytesMin?: number
    /** Starts threads of the operating system by default. */
    readonly startThread?: StartThread | undefined
  }

/** Opens a database file, creating it if needed. @throws StorageError `storage_in_use`, `storage_newer`. */
export async function openSqlite(options: SqliteOptions): Promise<Storage> {
  const { clock, log, role, ids = new Ids() } = options
  const isAlone = role === 'gateway'
  const place = takeLocation(options.path, { isClaimed: isAlone })
  const { path } = place
  const owner = options.owner ?? ids.next(`${role}_`, clock.now())
  const logQueue = new LogQueue()
  const chargeQueue = new ChargeQueue()
  const writer = new Writer({
    start: {
      path,
      connect: connectOptions(options),
      owner,
      host: processName(),
      // The workers of a file write to it one after another, so they continue one chain.
      chain: role === 'tool' ? 'tool' : 'gateway',
      part: '',
      zone: options.timeZone ?? 'UTC',
      thresholds: options.thresholds ?? defaultThresholds,
      beginAt: role === 'tool' ? null : clock.now(),
      isAlone,
      epoch: null,
      diskBytesMin: options.path === ':memory:' ? 0 : (options.diskBytesMin ?? diskBytesMin),
      logPageRows: options.logPageRows,
    },
    startThread: options.startThread ?? startThread,
    logQueue,
    chargeQueue,
    clock,
    log,
  })

  async function prepare(): Promise<Connection> {
    if (role !== 'tool' || !isReady(path)) {
      const recovery = await writer.start()
      if (hasEnded(recovery)) log.warn(recovery, 'charges of a gateway that stopped were recovered')
    }
    return new Connection(path, { readOnly: true })
  }

  const reads = await prepare().catch(async error => {
    await writer.close()
    place.release()
    place.forget()
    throw error
  })
  const start = options.startThread ?? startThread
  const [lists, sums] = [new Reader(path, start), new Reader(path, start)]
  const reader: Lists = { ask: (reading, given) => (takesLong.has(reading) ? sums : lists).ask(reading, given) }
  return createStorage({
    owner,
    clock,
    log,
    role,
    zone: options.timeZone ?? 'UTC',
    onCommit: options.onCommit,
    isAlone,
    ...(role === 'tool' && { pauseMs }),
    logQueue,
    chargeQueue,
    writer,
    reads,
    reader,
    async close(waitMs) {
      // Closes readers first: the last connection to close cleans up the file, so it must be one that may write.
      await Promise.all([lists.close(), sums.close()])
      reads.close()
      try {
        await writer.close(waitMs)
      } finally {
        place.release()
        place.forget()
      }
    },
  })
}

function connectOptions({ busyMs, bytesMax }: ConnectOptions): ConnectOptions {
  return { ...(busyMs === undefined ? {} : { busyMs }), ...(bytesMax === undefined ? {} : { bytesMax }) }
}
