import type pg from 'pg'
import type { Lists, Lookup } from '../assemble.ts'
import { StorageError } from '../errors.ts'
import type { Steps } from '../query.ts'
import { createAnswers, type Reading, type Readings } from '../readings.ts'
import { Session } from './connect.ts'
import { isLost, toStorageError } from './failure.ts'

/** A lookup that takes longer is refused: a caller waits for it. */
const lookupMs = 2_000

/** Lookups and lists, on connections of their own: commits that wait never hold them up. */
export class Reader implements Lookup, Lists {
  readonly #pool: pg.Pool
  readonly #answers = createAnswers({
    run: steps => this.#session(session => session.run(steps)),
    snapshot: steps => this.#snapshot(steps),
    openKysely: async () => (await import('./kysely.ts')).openKysely(this.#pool),
  })

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  run<T>(steps: Steps<T>): Promise<T> {
    return inTime(this.#session(session => session.run(steps)))
  }

  snapshot<T>(steps: Steps<T>): Promise<T> {
    return inTime(this.#snapshot(steps))
  }

  async ask<R extends Reading>(reading: R, given: Readings[R]['given']): Promise<Readings[R]['gives']> {
    try {
      return await this.#answers[reading](given)
    } catch (error) {
      throw toStorageError(error)
    }
  }

  #snapshot<T>(steps: Steps<T>): Promise<T> {
    return this.#session(async session => {
      session.send('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      try {
        return await session.run(steps)
      } finally {
        session.send('COMMIT')
        await session.settle()
      }
    })
  }

  async #session<T>(work: (session: Session) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | undefined
    let lost = false
    try {
      client = await this.#pool.connect()
      return await work(new Session(client))
    } catch (error) {
      lost = isLost(error)
      throw toStorageError(error)
    } finally {
      client?.release(lost)
    }
  }
}

function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const reason = `the database has not answered in ${lookupMs} ms`
    timer = setTimeout(() => reject(new StorageError('storage_unavailable', { reason })), lookupMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
