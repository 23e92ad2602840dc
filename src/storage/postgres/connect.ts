import { Pool, type PoolClient, type QueryResult } from 'pg'
import type { Query, Rows, QueryProgram } from '../query.ts'
import { prepare } from './translate.ts'

/** The longest time of a statement on the server. */
const statementMs = 5_000
/** How much longer it may take as seen from here: a server that is frozen or cut off sends nothing. */
const silentMs = 2_000
/** The longest wait for a connection, new or in use. */
const connectMs = 2_000

const settings = `SET synchronous_commit = on; SET idle_in_transaction_session_timeout = 10000; SET lock_timeout = 0;
  SET client_min_messages = warning; SET default_transaction_isolation = 'read committed'`

/** The application name of versions that did not check the schema before each commit. */
export const uncheckedName = 'tollgate'
/** The application name of this version. */
const ownName = 'tollgate gateway'

/** Connections to the database of an address, opened when needed and kept. */
export function createPool(url: string, connectionsMax: number, statementMax = statementMs): Pool {
  const pool = new Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 0,
    query_timeout: statementMax + silentMs,
    keepAlive: true,
    application_name: ownName,
    pipeline: true,
    // The next statement waits for it.
    onConnect: client =>
      void client.query(`${settings}; SET statement_timeout = ${statementMax}`).catch(() => undefined),
  })
  // A connection that breaks reports it here as well as to its user, whose statement fails.
  pool.on('connect', client => client.on('error', () => undefined))
  pool.on('error', () => undefined)
  return pool
}

/** The destination of an address, for people: without the password. */
export function describePlace(url: string): string {
  const [, scheme, place = ''] = /^(\w+:\/\/)([^?]*)/.exec(url) ?? []
  return scheme === undefined ? url : scheme + place.slice(place.lastIndexOf('@') + 1)
}

/** Work on one connection. Statements without rows are sent without waiting for them; `settle` waits for all. */
export class Session {
  readonly #client: PoolClient
  #sent: Promise<QueryResult>[] = []

  constructor(client: PoolClient) {
    this.#client = client
  }

  /** Sends text that needs no preparing. */
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
   * Resolves when everything sent is done, with the last result. @throws the error of the first statement that failed:
   * the rest follows from it
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
    // All that was read of a ledger would be kept until it is over.
    this.#sent = this.#sent.filter(sent => sent !== answer)
    return rows as Rows
  }

  #keep(answer: Promise<QueryResult>): Promise<QueryResult> {
    // The settling code gets the error; until then it is not unhandled.
    answer.catch(() => undefined)
    this.#sent.push(answer)
    return answer
  }
}

/** PostgreSQL has no character 0 in texts; clients' words may contain one. */
function toText(value: Query['params'][number]): Query['params'][number] {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
}
