import { Client, Pool, type PoolClient, type QueryResult } from 'pg'
import type { Query, Rows, QueryProgram } from '../query.ts'
import { prepare } from './translate.ts'

/** The longest time of a statement on the server. */
const statementMs = 5_000
/**
 * How much longer a statement may take by this machine's clock: a server that is frozen or disconnected sends nothing.
 */
const silentMs = 2_000
/**
 * The longest pause in a transaction. A gateway that is lost in one blocks its rows for other gateways until then: for
 * less than the 10 s in which an image waits for its charge.
 */
const idleMs = 5_000
/** Firewalls forget connections that are idle for longer; a lost server is noticed after about 10 s more. */
const keepAliveMs = 30_000
/** The longest wait for a connection, new or in use. */
const connectMs = 2_000

const settings = `SET synchronous_commit = on; SET idle_in_transaction_session_timeout = ${idleMs}; SET lock_timeout = 0;
  SET client_min_messages = warning; SET default_transaction_isolation = 'read committed';
  SET standard_conforming_strings = on`

/** The application name of versions that did not check the schema before each commit. */
export const uncheckedName = 'tollgate'
/** The application name of this version. */
const ownName = 'tollgate gateway'

/**
 * A session that the server ends while it is idle breaks the statement that is sent meanwhile, and a migration takes
 * long. Older servers lack these settings.
 */
const noTimeouts = `SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings
  WHERE name IN ('idle_session_timeout', 'transaction_timeout')`

/** An address may set this name too. */
const renameUnchecked = `SELECT set_config('application_name', '${ownName}', false)
  WHERE current_setting('application_name') = '${uncheckedName}'`

/** Ends a connection that could not be made: pg leaves its socket open, which keeps the process alive. */
class EndingClient extends Client {
  override connect(): Promise<Client>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<Client> | undefined {
    if (callback === undefined) return super.connect()
    super.connect((error: Error | null, client?: Client) => {
      if (error) void this.end()
      callback(error, client)
    })
    return undefined
  }
}
type Connected = (error: Error | null, client?: Client) => void

/** Connections to the database of an address, opened when needed and kept. */
export function createPool(url: string, connectionsMax: number, statementMax = statementMs): Pool {
  const pool = new Pool({
    Client: EndingClient,
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 0,
    query_timeout: statementMax + silentMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: ownName,
    pipeline: true,
    // The next statement waits for this one.
    onConnect: client =>
      void client
        .query(`${settings}; SET statement_timeout = ${statementMax}; ${noTimeouts}; ${renameUnchecked}`)
        .catch(() => undefined),
  })
  // A broken connection reports the error here as well as to its user, whose statement fails.
  pool.on('connect', client => client.on('error', () => undefined))
  pool.on('error', () => undefined)
  return pool
}

/** The destination of an address for messages. Leaves out what may be a part of a password with special characters. */
export function describePlace(url: string): string {
  const [, scheme, socket = '…'] = /^(\w+:\/\/)(?:(?:[^@/?#]*@)?(\/[^@?#]*)(?:\?[^@]*)?$)?/.exec(url) ?? []
  const parsed = URL.parse(url)
  if (scheme === undefined || parsed === null || parsed.host === '') return `${scheme ?? ''}${socket}`
  const { host, pathname, search, hash } = parsed
  return `${scheme}${`${pathname}${search}${hash}`.includes('@') ? '…' : host + pathname}`
}

/** Work on one connection. Sends statements without rows without waiting for their results; `settle` waits for all. */
export class Session {
  readonly #client: PoolClient
  #sent: Promise<QueryResult>[] = []

  constructor(client: PoolClient) {
    this.#client = client
  }

  /** Sends a statement that needs no preparation. */
  send(text: string): void {
    void this.#keep(this.#client.query(text))
  }

  /** Runs steps. The caller owns the transaction. */
  async run<T>(steps: QueryProgram<T>): Promise<T> {
    let next = steps.next()
    while (next.done !== true) next = steps.next(await this.#ask(next.value))
    return next.value
  }

  /**
   * Resolves with the last result when every statement is done. @throws the error of the first statement that failed:
   * it is the cause of the others
   */
  async settle(): Promise<QueryResult | undefined> {
    const results = await Promise.allSettled(this.#sent)
    for (const result of results) if (result.status === 'rejected') throw result.reason
    const last = results.at(-1)
    return last?.status === 'fulfilled' ? last.value : undefined
  }

  async #ask({ sql, params }: Query): Promise<Rows> {
    const { name, text, givesRows } = prepare(sql)
    const answer = this.#keep(this.#client.query({ name, text, values: params.map(toText) }))
    if (!givesRows) return []
    const { rows } = await answer
    // Otherwise all rows read from a ledger would stay in memory until the end of the work.
    this.#sent = this.#sent.filter(sent => sent !== answer)
    return rows as Rows
  }

  #keep(answer: Promise<QueryResult>): Promise<QueryResult> {
    // `settle` reports the error; until then it must not count as unhandled.
    answer.catch(() => undefined)
    this.#sent.push(answer)
    return answer
  }
}

/** PostgreSQL does not store the character 0 in texts; texts of clients may contain it. */
export function toText<Value>(value: Value): Value | string {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
}
