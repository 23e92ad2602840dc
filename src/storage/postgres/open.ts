import { Ids } from '../../util/ids.ts'
import { processName } from '../../util/process-name.ts'
import type { Storage } from '../../domain/index.ts'
import { defaultThresholds } from '../../domain/budget.ts'
import { createStorage } from '../storage.ts'
import type { StorageOptions } from '../options.ts'
import { LogQueue } from '../journal/log-queue.ts'
import { ChargeQueue, togetherFar } from '../ledger/charge-queue.ts'
import { hasEnded } from '../ledger/recovery.ts'
import { createPool } from './connect.ts'
import { logWaits } from '../log-waits.ts'
import { prepareDatabase, startError } from './prepare.ts'
import { Lookups, Reader } from './reader.ts'
import { Writer } from './writer.ts'

/** Connections of one process. Commits, lookups and lists never wait for one another. */
const writersMax = 6
const lookupsMax = 2
const listsMax = 2
/** The longest time of a list or a page of an audit. */
const listMs = 60_000

export type PostgresOptions = StorageOptions & { readonly url: string }

/** Opens a database, creating its tables if needed. @throws StorageError `storage_newer`, `storage_unavailable`. */
export async function openPostgres(options: PostgresOptions): Promise<Storage> {
  const { clock, log, role, url, ids = new Ids(), onWait = logWaits(clock, log) } = options
  const pool = createPool(url, writersMax)
  const lookups = createPool(url, lookupsMax)
  const lists = createPool(url, listsMax, listMs)
  const owner = options.owner ?? ids.next(`${role}_`, clock.now())
  const logQueue = new LogQueue(togetherFar)
  const chargeQueue = new ChargeQueue(togetherFar)
  const writer = new Writer({
    pool,
    connectionsMax: writersMax,
    owner,
    host: processName(),
    zone: options.timeZone ?? 'UTC',
    thresholds: options.thresholds ?? defaultThresholds,
    ids,
    logPageRows: options.logPageRows,
    logQueue,
    chargeQueue,
    clock,
    log,
  })

  async function letGo(): Promise<void> {
    await Promise.all([pool, lookups, lists].map(one => one.end()))
  }

  try {
    await prepareDatabase(pool, url, { clock, isOwn: role === 'gateway', onWait })
    if (role !== 'tool') {
      const recovery = await writer.begin(clock.now())
      if (hasEnded(recovery)) log.warn(recovery, 'charges of a gateway that stopped were recovered')
    }
  } catch (error) {
    await letGo()
    throw startError(error, url)
  }
  return createStorage({
    owner,
    clock,
    log,
    role,
    zone: options.timeZone ?? 'UTC',
    onCommit: options.onCommit,
    isAlone: false,
    logQueue,
    chargeQueue,
    writer,
    reads: new Lookups(lookups, clock),
    reader: new Reader(lists),
    async close(waitMs) {
      try {
        await writer.close(waitMs)
      } finally {
        await letGo()
      }
    },
  })
}
