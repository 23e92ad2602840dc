import { hostname } from 'node:os'
import { timeOrderedId } from '../../kit/ids.ts'
import type { Storage } from '../../kit/index.ts'
import { assembleStorage } from '../assemble.ts'
import type { StorageOptions } from '../index.ts'
import { Backlog } from '../journal/backlog.ts'
import { Postings } from '../ledger/postings.ts'
import { createPool } from './connect.ts'
import { prepareDatabase } from './prepare.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'

/** Connections of one process: a tool is content with what a gateway keeps for its reads. */
const writersMax = 6
const readersMax = 4

export type PostgresOptions = StorageOptions & { readonly url: string }

/** Opens a database, making its tables where needed. @throws StorageError `storage_newer`, `storage_unavailable`. */
export async function openPostgres(options: PostgresOptions): Promise<Storage> {
  const { clock, log, role, url } = options
  const [pool, readPool] = [createPool(url, writersMax), createPool(url, readersMax)]
  const backlog = new Backlog()
  const postings = new Postings()
  const writer = new Writer({
    pool,
    connectionsMax: writersMax,
    owner: options.owner ?? timeOrderedId(`${role}_`, clock.now()),
    host: `${hostname()}:${process.pid}`,
    backlog,
    postings,
    clock,
    log,
  })

  async function letGo(): Promise<void> {
    await Promise.all([pool.end(), readPool.end()])
  }

  try {
    await prepareDatabase(pool, url)
    if (role !== 'tool') {
      const recovery = await writer.begin(clock.now())
      if (recovery.settled + recovery.toReview > 0)
        log.warn(recovery, 'charges of a gateway that stopped were recovered')
    }
  } catch (error) {
    await letGo()
    throw error
  }
  const reader = new Reader(readPool)
  return assembleStorage({
    clock,
    log,
    role,
    isAlone: false,
    backlog,
    postings,
    writer,
    reads: reader,
    reader,
    async close() {
      await writer.close()
      await letGo()
    },
  })
}
