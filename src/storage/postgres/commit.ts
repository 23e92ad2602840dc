import type pg from 'pg'
import type { Clock } from '../../util/index.ts'
import type { Recovery } from '../ledger/recovery.ts'
import { type Op, stepsOf } from '../ops.ts'
import type { QueryProgram } from '../query.ts'
import type { Scribe } from '../writer-identity.ts'
import { StorageError } from '../errors.ts'
import { Session } from './connect.ts'
import { refuseNewer } from './migrate.ts'
import { isBlocked, isLost, isStopped, mayRetry, storageFailure, toStorageError } from './failure.ts'

/** The maximum attempts if another process has created the same row. */
const attemptsMax = 3
/** How long other transactions may block an operation before it counts as failed, for its caller too. */
const conflictMs = 10_000
/** Waits between attempts, growing to the maximum, so that conflicting processes separate. */
const pauseMs = { first: 2, most: 100 }

type Waits = Pick<Clock, 'tick' | 'sleep'>

/** One attempt: every value, or the reason why none of them is known to be stored. */
type Attempt<T> = { readonly value: T } | Failed
type Failed = {
  readonly error: unknown
  /** Whether the error is from the database, not from the steps. */
  readonly isFromDatabase: boolean
}

/**
 * The result of a group. `values` and `faults` are by the operation's position; an operation with a fault changed
 * nothing. `broken`: why the storage could not be written; operations beyond `values` are not known to be committed.
 */
export type GroupResult = {
  readonly values: readonly unknown[]
  readonly faults: readonly (Error | undefined)[]
  readonly broken: string | undefined
  /** The connection cannot be used again. */
  readonly isLost: boolean
}

/** Runs all operations in one transaction; if one of them fails, runs each in its own, so that the others succeed. */
export async function commitGroup(
  client: pg.PoolClient,
  identity: Scribe,
  ops: readonly Op[],
  clock: Waits,
): Promise<GroupResult> {
  const values: unknown[] = []
  const faults: (Error | undefined)[] = []
  const groups = ops.map(op => [op])
  const together = ops.length > 1 ? await commitOps(client, identity, ops) : undefined
  if (together && 'value' in together) return { values: together.value, faults, broken: undefined, isLost: false }
  const failure = together && failureOf(together)
  if (failure) return { values, faults, ...failure }
  // Its operations change one row, so each of them would wait as long.
  if (together && isStuck(together)) return allFailed(ops, faultOf(together))
  for (const group of groups) {
    const attempt = await insist(clock, () => commitOps(client, identity, group))
    const alone = 'value' in attempt ? undefined : failureOf(attempt)
    if (alone) return { values, faults, ...alone }
    values.push('value' in attempt ? attempt.value[0] : undefined)
    faults.push('value' in attempt ? undefined : faultOf(attempt))
  }
  return { values, faults, broken: undefined, isLost: false }
}

/**
 * Runs steps in their own transaction, again after a conflict with another transaction. @throws the error of the last
 * attempt
 */
export async function transact<T>(client: pg.PoolClient, clock: Waits, work: () => QueryProgram<T>): Promise<T> {
  const attempt = await insist(clock, () => attemptSteps(client, session => session.run(work())))
  if ('value' in attempt) return attempt.value
  throw attempt.error
}

function commitOps(client: pg.PoolClient, identity: Scribe, ops: readonly Op[]): Promise<Attempt<unknown[]>> {
  return attemptSteps(client, async session => {
    const values: unknown[] = []
    let now = identity
    for (const op of ops) {
      const value: unknown = await session.run(stepsOf(op.change, op.given as never, now))
      // A process that has lost its lease continues in another epoch.
      if (op.change === 'beat') now = { ...now, epoch: (value as Recovery).epoch }
      values.push(value)
    }
    return values
  })
}

/** Retries while other transactions conflict, up to the maximum time. */
async function insist<T>(clock: Waits, attempt: () => Promise<Attempt<T>>): Promise<Attempt<T>> {
  const until = clock.tick() + conflictMs
  for (let tries = 1; ; tries++) {
    const result = await attempt()
    if ('value' in result || !result.isFromDatabase) return result
    const why = mayRetry(result.error)
    if (why === undefined || (why === 'twice' && tries > attemptsMax) || clock.tick() >= until) return result
    // A deadlock ends when one of its transactions fails.
    if (why === 'conflict' && tries > attemptsMax)
      await clock.sleep(Math.min(pauseMs.first * 2 ** (tries - attemptsMax), pauseMs.most))
  }
}

async function attemptSteps<T>(client: pg.PoolClient, work: (session: Session) => Promise<T>): Promise<Attempt<T>> {
  const session = new Session(client)
  session.send('BEGIN')
  const checked = session.run(refuseNewer())
  // The result is checked below, however the work ends.
  checked.catch(() => undefined)
  let ours: unknown
  try {
    const value = await work(session)
    await checked
    session.send('COMMIT')
    const committed = await session.settle()
    if (committed?.command === 'COMMIT') return { value }
    ours = new Error('the transaction was rolled back')
  } catch (error) {
    ours = error
  }
  // If the schema is newer, that is the cause of every other failure.
  const newer = await checked.then(
    () => undefined,
    (error: unknown) => (error instanceof StorageError ? error : undefined),
  )
  try {
    session.send('ROLLBACK')
    await session.settle()
  } catch (error) {
    return { error: newer ?? error, isFromDatabase: newer === undefined }
  }
  return { error: newer ?? ours, isFromDatabase: false }
}

function faultOf({ error, isFromDatabase }: Failed): Error {
  if (isFromDatabase) return toStorageError(error)
  return error instanceof Error ? error : new Error(String(error))
}

function failureOf({ error, isFromDatabase }: Failed) {
  if (error instanceof StorageError && error.code === 'storage_newer') return { broken: error.message, isLost: false }
  const broken = isFromDatabase && !isBlocked(error) ? storageFailure(error) : undefined
  return broken === undefined ? undefined : { broken, isLost: isLost(error) }
}

function isStuck({ error, isFromDatabase }: Failed): boolean {
  return isFromDatabase && isStopped(error)
}

function allFailed(ops: readonly Op[], fault: Error): GroupResult {
  return { values: ops.map(() => undefined), faults: ops.map(() => fault), broken: undefined, isLost: false }
}

/** Lends a connection. One whose work failed is not used again. */
export async function useClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let isLost = true
  try {
    const value = await work(client)
    isLost = false
    return value
  } finally {
    client.release(isLost)
  }
}
