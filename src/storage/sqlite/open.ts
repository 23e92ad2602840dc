import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { timeOrderedId } from '../../kit/ids.ts'
import type { HoldResult, Storage } from '../../kit/index.ts'
import { StorageError } from '../errors.ts'
import type { StorageOptions } from '../index.ts'
import { Backlog } from '../journal/backlog.ts'
import { countKeys, findKeyByHash, readKey, readKeyRevision } from '../keys/find.ts'
import { findCharge } from '../ledger/find.ts'
import { type Ending, Owed } from '../ledger/owed.ts'
import { Postings } from '../ledger/postings.ts'
import { findSession, listSessions } from '../people/sessions.ts'
import { findUser, hasAdmin, listUsers, readPasswordHash } from '../people/users.ts'
import { Connection, type ConnectOptions } from './connect.ts'
import { claim } from './lock.ts'
import { isCurrent } from './migrate.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'

/** Holds are freed and answers forgotten a day later; a minute more is no matter. */
const sweepMs = 60_000
/** Who makes a change that nobody puts a name to. */
const nobody = 'gateway'
/** Room for the lines and ends of every charge that may be in flight when the disk fills up. */
const diskBytesMin = 256 * 1_048_576

export type SqliteOptions = StorageOptions &
  ConnectOptions & {
    /** A path, or `:memory:` for a temporary file that goes with the storage. */
    readonly path: string
    readonly diskBytesMin?: number
  }

/** Opens, creating it where needed, a database file. @throws StorageError `storage_in_use`, `storage_newer`. */
export async function openSqlite(options: SqliteOptions): Promise<Storage> {
  const { clock, log, role } = options
  const { place, release } = takePlace(options.path, role)
  const { path } = place
  const backlog = new Backlog()
  const postings = new Postings()
  const owed = new Owed()
  const writer = new Writer({
    start: {
      path,
      connect: connectOptions(options),
      owner: timeOrderedId(`${role}_`, clock.now()),
      chain: role,
      recoverAt: role === 'gateway' ? clock.now() : null,
      epoch: null,
      diskBytesMin: options.path === ':memory:' ? 0 : (options.diskBytesMin ?? diskBytesMin),
    },
    backlog,
    postings,
    clock,
    log,
    onRecovered: payOwed,
  })
  const reads = await prepare().catch(async error => {
    await writer.close()
    release()
    place.forget()
    throw error
  })
  const reader = new Reader(path)
  const sweeper = role === 'gateway' ? setInterval(sweep, sweepMs).unref() : undefined
  let closing: Promise<void> | undefined
  let ownChanges = 0

  async function prepare(): Promise<Connection> {
    if (role === 'gateway' || !isReady(path)) {
      const recovery = await writer.start()
      if (recovery.settled + recovery.toReview > 0)
        log.warn(recovery, 'charges of a gateway that stopped were recovered')
    }
    return new Connection(path, { readOnly: true })
  }

  function payOwed(): void {
    for (const { id, ending } of owed.take()) void end(id, ending).catch(() => undefined)
  }

  function sweep(): void {
    writer
      .submit('sweep', { at: clock.now() })
      .catch(error => log.warn({ err: error }, 'the sweep of old charges failed'))
  }

  /** Ends a charge, now or, where the storage cannot be written, when it can be again. */
  async function end(id: string, ending: Ending): Promise<boolean> {
    try {
      const ended = await writer.submit(ending.change, ending.given)
      // A line whose commit was in doubt is there after all: the charge is not empty, and must not stay open.
      if (ended || ending.change === 'settle' || !owed.isInDoubt(id)) return ended
      const settlement = { id, delivery: 'unconfirmed', reason: 'line_in_doubt' } as const
      return await writer.submit('settle', { settlement, at: ending.given.at })
    } catch (error) {
      if (isUnavailable(error)) owed.owe(id, ending)
      throw error
    }
  }

  async function changing<T>(change: Promise<T>): Promise<T> {
    try {
      return await change
    } finally {
      ownChanges++
    }
  }

  async function close(): Promise<void> {
    clearInterval(sweeper)
    // Readers first: the last connection to close tidies the file, and it has to be the one that may write.
    await reader.close()
    reads.close()
    await writer.close()
    release()
    place.forget()
  }

  return {
    keys: {
      findByHash: hash => reads.run(findKeyByHash(hash)),
      find: id => reads.run(readKey(id)),
      create: (key, by = nobody) => changing(writer.submit('createKey', { key, by, at: clock.now() })),
      change: (id, change, by) => changing(writer.submit('changeKey', { id, change, by, at: clock.now() })),
      rotate: (id, rotation, by) => changing(writer.submit('rotateKey', { id, rotation, by, at: clock.now() })),
      list: (filter = {}) => reader.ask('keys', filter),
      revoke: (id, by = nobody) => changing(writer.submit('revokeKey', { id, by, at: clock.now() })),
      count: () => reads.run(countKeys()),
      revision: () => reads.run(readKeyRevision()),
      ownChanges: () => ownChanges,
    },
    users: {
      async create(user, by = nobody) {
        await writer.submit('createUser', { user, by, at: clock.now() })
      },
      find: name => reads.run(findUser(name)),
      passwordHash: name => reads.run(readPasswordHash(name)),
      list: () => reads.run(listUsers()),
      change: (name, change, by) => changing(writer.submit('changeUser', { name, change, by, at: clock.now() })),
      setPassword: (name, passwordHash, by = nobody, keep) =>
        writer.submit('setPassword', { name, passwordHash, keep: keep ?? null, by, at: clock.now() }),
      hasAdmin: () => reads.run(hasAdmin()),
      async offerSetup(tokenHash, expiresAt) {
        await writer.submit('offerSetup', { tokenHash, expiresAt })
      },
      claimSetup: claim => changing(writer.submit('claimSetup', { ...claim, at: clock.now() })),
    },
    sessions: {
      async create(session) {
        await writer.submit('createSession', { session })
      },
      find: hash => reads.run(findSession(hash, clock.now())),
      async touch(hash) {
        await writer.submit('touchSession', { hash, at: clock.now() })
      },
      async end(hash) {
        await writer.submit('endSession', { hash })
      },
      list: user => reads.run(listSessions(user, clock.now())),
    },
    trail: {
      async note(row) {
        await writer.submit('note', { row, at: clock.now() })
      },
      list: filter => reader.ask('trail', filter),
    },
    ledger: {
      async hold(request) {
        if (!writer.healthy()) throw new StorageError('storage_unavailable', { reason: 'writing failed a moment ago' })
        const at = clock.now()
        try {
          return withBuffer(await writer.submit('hold', { request, at }))
        } catch (error) {
          const { id } = request.facts
          const given = { id, state: 'voided', reason: 'hold_in_doubt', at } as const
          if (isUnavailable(error)) owed.owe(id, { change: 'endEmpty', given })
          throw error
        }
      },
      async line(chargeId, line) {
        try {
          return await writer.submit('line', { chargeId, line })
        } catch (error) {
          if (isUnavailable(error)) owed.doubt(chargeId)
          throw error
        }
      },
      settle: settlement => {
        const { answer } = settlement
        // A view of a large buffer would cross to the thread with all of it.
        const kept = answer
          ? { ...settlement, answer: { ...answer, body: Buffer.from(Uint8Array.from(answer.body).buffer) } }
          : settlement
        return end(settlement.id, { change: 'settle', given: { settlement: kept, at: clock.now() } })
      },
      post(facts, lines, delivery) {
        if (lines.length === 0) return
        postings.append({ facts, lines, delivery, at: clock.now() })
        writer.touch()
      },
      void: (id, reason) => end(id, { change: 'endEmpty', given: { id, state: 'voided', reason, at: clock.now() } }),
      review: (id, reason) =>
        end(id, { change: 'endEmpty', given: { id, state: 'needs_review', reason, at: clock.now() } }),
      delivered(id) {
        backlog.delivered(id)
        writer.touch()
      },
      find: id => postings.find(id) ?? reads.snapshot(findCharge(id)),
      healthy: () => writer.healthy(),
    },
    journal: {
      append(row) {
        backlog.append(row)
        writer.touch()
      },
      list: filter => reader.ask('logs', filter),
      histogram: (match, stepMs) => reader.ask('steps', { match, stepMs }),
      summary: span => reader.ask('summary', span),
      usage: match => reader.ask('usage', match),
      prune: (until, limit) => writer.submit('pruneLogs', { until, limit }),
    },
    books: {
      all: (after, limit) => reader.ask('charges', { after, limit }),
      verify: () => reader.ask('audit', null),
      resolve: (id, how, by, reason) => writer.submit('resolve', { id, how, by, reason, at: clock.now() }),
      refund: (id, by, reason) => writer.submit('refund', { id, by, reason, at: clock.now() }),
    },
    flush: () => writer.flush(),
    close: () => (closing ??= close()),
  }
}

type Place = { readonly path: string; forget(): void }

/** @throws StorageError also for what the file system says: no such disk, no permission. */
function takePlace(wanted: string, role: SqliteOptions['role']): { readonly place: Place; release(this: void): void } {
  try {
    const place = findPlace(wanted)
    return { place, release: role === 'gateway' ? claim(place.path) : () => undefined }
  } catch (error) {
    if (error instanceof StorageError) throw error
    const reason = `${wanted}: ${error instanceof Error ? error.message : String(error)}`
    throw new StorageError('storage_unavailable', { reason })
  }
}

/** The file's real path, since two names of one file are one database; and what to do when it is no longer needed. */
function findPlace(path: string): Place {
  if (path === ':memory:') {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
    return { path: join(folder, 'tollgate.db'), forget: () => rmSync(folder, { recursive: true, force: true }) }
  }
  mkdirSync(dirname(path), { recursive: true })
  const real = existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path))
  return { path: real, forget: () => undefined }
}

function connectOptions({ busyMs, bytesMax }: ConnectOptions): ConnectOptions {
  return { ...(busyMs === undefined ? {} : { busyMs }), ...(bytesMax === undefined ? {} : { bytesMax }) }
}

/** True when a tool can read the file at once, without a writer having to prepare it. */
function isReady(path: string): boolean {
  let connection: Connection | undefined
  try {
    connection = new Connection(path, { readOnly: true })
    return isCurrent(connection, path)
  } catch (error) {
    if (error instanceof StorageError) throw error
    return false
  } finally {
    connection?.close()
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof StorageError && error.code === 'storage_unavailable'
}

/** Bytes come back from the thread as plain arrays of bytes. */
function withBuffer(result: HoldResult): HoldResult {
  if (result.kind !== 'ended' || result.answer === null) return result
  const { buffer, byteOffset, byteLength } = result.answer.body
  return { ...result, answer: { ...result.answer, body: Buffer.from(buffer, byteOffset, byteLength) } }
}
