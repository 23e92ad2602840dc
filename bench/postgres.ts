import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'pg'
import { type Postgres, startPostgres } from '../test/harness/postgres.ts'
import { type Charged, type Cost, loadCharged, startCharged, takeTurns } from './charged.ts'
import { fillKeys, fillKeysOfPostgres, prepareDatabase } from './fill.ts'
import { family, parentOf } from './measure.ts'
import { startRedis } from './redis.ts'
import type { Verdict } from './rows.ts'
import { type Site, startUpstream } from './targets.ts'

const keys = 1_000

export type PostgresMeasured = {
  readonly costs: { readonly [name: string]: Cost }
  /** The number of statements of one request on PostgreSQL, including BEGIN and COMMIT. */
  readonly statements: number
  /** The same by the beginnings of their texts. */
  readonly statementsOf: { readonly [text: string]: number }
}

export type PostgresAsked = { readonly runs: number; readonly seconds: number; readonly warmSeconds: number }

/** A PostgreSQL that can count statements, with counting off; `pids` are all its processes. */
export async function startServer(): Promise<{ readonly postgres: Postgres; pids(this: void): readonly number[] }> {
  const settings = ['max_connections=100', 'shared_buffers=512MB', 'shared_preload_libraries=pg_stat_statements']
  const postgres = await startPostgres(settings)
  const client = await postgres.connect(await postgres.createDatabase())
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  // Settings on the command line could not be changed later.
  await track(client, 'none')
  // Read while the session lives: afterwards its process has no parent to be found.
  const server = parentOf(rows[0]?.pid ?? 0)
  await client.end()
  return { postgres, pids: () => family(server) }
}

/**
 * A charged chat of 1,000 keys at gateways on SQLite and on PostgreSQL, in turns, and the statements that PostgreSQL
 * gets.
 */
export async function measurePostgres(asked: PostgresAsked): Promise<PostgresMeasured> {
  const { postgres, pids } = await startServer()
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-postgres-'))
  const stop = new AbortController()
  try {
    const site: Site = { folder, stop, upstream: await startUpstream({ folder, stop }) }
    const onSqlite = await startOnSqlite(site)
    const url = await postgres.createDatabase()
    const onPostgres = await startOnPostgres(postgres, url, { site, name: 'postgres' })
    const targets = [onSqlite, onPostgres]
    const redis = await startRedis(site).catch((error: Error) => void process.stderr.write(`bench: ${error.message}\n`))
    if (redis) {
      const other = await postgres.createDatabase()
      const parts = { site, name: 'postgres, limits in Redis', counters: redis.url }
      targets.push(await startOnPostgres(postgres, other, parts))
    }
    const costs = await takeTurns(targets, asked, pids)
    return { costs, ...(await countStatements(postgres, url, async () => loadCharged(onPostgres, asked.seconds))) }
  } finally {
    stop.abort()
    await postgres.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

export function judgePostgres({ costs, statements }: PostgresMeasured): readonly Verdict[] {
  const of = (name: string, what: 'cpuMicros' | 'p99Ms'): number => costs[name]?.[what] ?? Number.NaN
  const over = (what: 'cpuMicros' | 'p99Ms'): number => of('postgres', what) / of('sqlite', what)
  return [
    { text: "the gateway's CPU on PostgreSQL, over on SQLite", value: over('cpuMicros'), atMost: 1.3 },
    { text: 'p99 on PostgreSQL, over on SQLite', value: over('p99Ms'), atMost: 1.5 },
    { text: 'statements a request', value: statements, atMost: 3 },
  ]
}

async function startOnSqlite(site: Site): Promise<Charged> {
  const file = join(site.folder, 'sqlite.db')
  const storage = `sqlite:${file}`
  await prepareDatabase(storage)
  return startCharged({ site, name: 'sqlite', storage, secrets: fillKeys(file, keys) })
}

type Parts = { readonly site: Site; readonly name: string; readonly counters?: string; readonly keys?: number }

/** Starts a gateway on an empty database of PostgreSQL, which it fills with keys. */
export async function startOnPostgres(postgres: Postgres, storage: string, parts: Parts): Promise<Charged> {
  await prepareDatabase(storage)
  const filling = await postgres.connect(storage)
  const secrets = await fillKeysOfPostgres(filling, parts.keys ?? keys)
  await filling.end()
  return startCharged({ ...parts, storage, secrets })
}

/** Statements per request. The server itself counts them, in a run of its own, because counting has a cost. */
export async function countStatements(
  postgres: Postgres,
  url: string,
  send: () => Promise<{ readonly requests: number }>,
): Promise<Pick<PostgresMeasured, 'statements' | 'statementsOf'>> {
  // Read from another database, so that the bench's own queries are not counted.
  const counting = await postgres.connect(await postgres.createDatabase())
  try {
    await counting.query('CREATE EXTENSION pg_stat_statements')
    await track(counting, 'top')
    await counting.query('SELECT pg_stat_statements_reset()')
    const { requests } = await send()
    await track(counting, 'none')
    const { rows } = await counting.query<{ query: string; calls: string }>(
      `SELECT query, sum(calls) AS calls FROM pg_stat_statements
       WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1) GROUP BY query ORDER BY 2 DESC`,
      [new URL(url).pathname.slice(1)],
    )
    const statementsOf: { [text: string]: number } = {}
    let statements = 0
    for (const { query, calls } of rows) {
      // Statements for different numbers of rows count as one.
      const text = query.replaceAll(/\s+/g, ' ').slice(0, 100)
      statementsOf[text] = (statementsOf[text] ?? 0) + Number(calls) / requests
      statements += Number(calls) / requests
    }
    return { statements, statementsOf }
  } finally {
    await counting.end()
  }
}

async function track(client: Client, what: 'top' | 'none'): Promise<void> {
  await client.query(`ALTER SYSTEM SET pg_stat_statements.track = '${what}'`)
  await client.query('SELECT pg_reload_conf()')
  // Sessions read it before their next statement.
  for (let left = 100; left > 0; left--) {
    const { rows } = await client.query<{ track: string }>(
      `SELECT current_setting('pg_stat_statements.track') AS track`,
    )
    if (rows[0]?.track === what) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`PostgreSQL does not begin to count: pg_stat_statements.track is not ${what}`)
}
