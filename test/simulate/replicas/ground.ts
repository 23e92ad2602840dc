import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import net from 'node:net'
import { Client, TypeOverrides } from 'pg'
import { redisDatabases, type Servers, template } from './servers.ts'

/** The real functions, saved before the world replaces them. */
const { Socket } = net
const connect = net.connect
/** BIGINT and NUMERIC: all sums of a world fit into a number. */
const wholes = [20, 1700]

type Row = { readonly [column: string]: unknown }

/** A seed's own databases on the real servers, bypassing every fault of the world, and the clock that they use. */
export class Ground {
  readonly name: string
  readonly redis: number
  readonly #servers: Servers
  readonly #clock: number
  #observer: Client | undefined

  /** `time` is milliseconds since 1970, as text. */
  constructor(seed: number, servers: Servers, time: string) {
    this.#servers = servers
    // Derived from the seed alone, because a configuration's revision covers its addresses too.
    this.name = `seed_${seed}`
    this.redis = seed % redisDatabases
    this.fail(undefined)
    writeFileSync(this.#file, time)
    this.#clock = openSync(this.#file, 'r+')
  }

  get #file(): string {
    return `${this.#servers.clocks}/${this.name}`
  }

  async open(): Promise<void> {
    await this.#once(`DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`)
    await this.#once(`CREATE DATABASE ${this.name} TEMPLATE ${template}`)
    this.#observer = await this.#client(this.name)
    await this.flushRedis()
  }

  async close(): Promise<void> {
    await this.#observer?.end()
    closeSync(this.#clock)
    await this.#once(`DROP DATABASE ${this.name} WITH (FORCE)`)
  }

  /** Current rows of the database. */
  async rows(sql: string): Promise<readonly Row[]> {
    if (!this.#observer) throw new Error('nobody looks yet')
    return (await this.#observer.query<Row>(sql)).rows
  }

  /** From now on every n-th row that is written fails, with a code of PostgreSQL. */
  fail(fault: { readonly code: string; readonly every: number } | undefined): void {
    writeFileSync(`${this.#file}.fault`, fault ? `${fault.code} ${fault.every}` : '- 1')
  }

  setClock(time: string): void {
    writeSync(this.#clock, time, 0)
  }

  /** Ends sessions, by the ids of their processes. */
  async terminate(pids: readonly number[]): Promise<void> {
    if (pids.length > 0)
      await this.rows(`SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[${pids.join(', ')}]) AS pid`)
  }

  async cancel(pid: number): Promise<void> {
    await this.rows(`SELECT pg_cancel_backend(${pid})`)
  }

  /** Whether each of these server processes waits for a lock. Exited processes are left out. */
  async findWaiting(pids: readonly number[]): Promise<ReadonlyMap<number, boolean>> {
    const rows = await this.rows(
      `SELECT pid, EXISTS (SELECT 1 FROM pg_locks WHERE pg_locks.pid = a.pid AND NOT granted) AS waits
       FROM pg_stat_activity a WHERE pid IN (${pids.join(', ')})`,
    )
    return new Map(rows.map(row => [Number(row['pid']), row['waits'] === true]))
  }

  /** Redis loses all data, like a new one. */
  async flushRedis(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(this.#servers.redisPort, '127.0.0.1')
      let text = ''
      socket.on('error', reject)
      socket.on('data', bytes => {
        text += bytes.toString()
        if (text.split('\r\n').length <= 2) return
        socket.destroy()
        resolve()
      })
      socket.write(`SELECT ${this.redis}\r\nFLUSHDB\r\n`)
    })
  }

  async #client(database: string): Promise<Client> {
    const types = new TypeOverrides()
    for (const id of wholes) types.setTypeParser(id, Number)
    const client = new Client({
      host: '127.0.0.1',
      port: this.#servers.postgresPort,
      user: 'tollgate',
      database,
      types,
      stream: () => new Socket(),
    })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  async #once(sql: string): Promise<void> {
    const client = await this.#client('postgres')
    await client.query(sql)
    await client.end()
  }
}
