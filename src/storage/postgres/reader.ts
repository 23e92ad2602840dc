import type { Pool } from 'pg'
import type { Clock } from '../../util/index.ts'
import type { Lists, Lookup } from '../storage.ts'
import type { QueryProgram } from '../query.ts'
import { createAnswers, type Reading, type Readings } from '../readings.ts'
import { useClient } from './commit.ts'
import { Session } from './connect.ts'
import { toStorageError } from './failure.ts'

/** The longest time of a lookup: a client waits for it. */
const lookupMs = 2_000

/** Lookups of one row or a few rows. */
export class Lookups implements Lookup {
  readonly #pool: Pool
  readonly #clock: Clock

  constructor(pool: Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  run<T>(steps: QueryProgram<T>): Promise<T> {
    return inTime(this.#clock, run(this.#pool, steps))
  }

  snapshot<T>(steps: QueryProgram<T>): Promise<T> {
    return inTime(this.#clock, snapshot(this.#pool, steps))
  }
}

/** Lists and audits. */
export class Reader implements Lists {
  readonly #answers: ReturnType<typeof createAnswers>

  constructor(pool: Pool) {
    this.#answers = createAnswers({
      run: steps => run(pool, steps),
      snapshot: steps => snapshot(pool, steps),
      openKysely: async () => (await import('./kysely.ts')).openKysely(pool),
    })
  }

  async ask<R extends Reading>(reading: R, given: Readings[R]['given']): Promise<Readings[R]['gives']> {
    try {
      return await this.#answers[reading](given)
    } catch (error) {
      throw toStorageError(error)
    }
  }
}

function run<T>(pool: Pool, steps: QueryProgram<T>): Promise<T> {
  return useClient(pool, client => new Session(client).run(steps))
}

function snapshot<T>(pool: Pool, steps: QueryProgram<T>): Promise<T> {
  return useClient(pool, async client => {
    const session = new Session(client)
    session.send('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    try {
      return await session.run(steps)
    } finally {
      session.send('COMMIT')
      await session.settle()
    }
  })
}

async function inTime<T>(clock: Clock, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const limit = clock.after(lookupMs, () => reject(new Error(`there was no answer in ${lookupMs} ms`)))
  try {
    return await Promise.race([work, late])
  } catch (error) {
    throw toStorageError(error)
  } finally {
    limit.cancel()
  }
}
