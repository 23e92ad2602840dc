import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Client } from 'pg'
import { openCounters } from '../src/storage/counters/index.ts'
import { systemClock } from '../src/util/index.ts'
import { chatRequest } from './bodies.ts'
import { figure } from './figures.ts'
import { cpuSeconds, loadPaced, watchForeignCpu } from './measure.ts'
import { countStatements, startOnPostgres, startServer } from './postgres.ts'
import { startRedis } from './redis.ts'
import { type Site, startUpstream } from './targets.ts'

// `node bench/store-load.ts [--rate 1000] [--seconds 20] [--keys 1000,100000]`: the load of one gateway on PostgreSQL
// and Redis per second, while charged chat requests arrive at a fixed rate, with keys in turn: statements, commits,
// rows, bytes of the write-ahead log, commands and memory, counted by the servers themselves. docs/capacity.md has the
// results.

const { values: options } = parseArgs({
  options: {
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    keys: { type: 'string', default: '1000,100000' },
  },
})
const [rate, seconds] = [Number(options.rate), Number(options.seconds)]
/** Longer than a charge waits to be written. */
const settleMs = 2_000
const countedKeys = 100_000

/** The counts of both servers so far, and the CPU time of their processes. */
type Counts = { readonly [what: string]: number }

async function countPostgres(client: Client, url: string, pids: readonly number[]): Promise<Counts> {
  const { rows } = await client.query<{ commits: string; rows: string; wal: string }>(
    `SELECT xact_commit AS commits, tup_inserted + tup_updated AS rows, pg_current_wal_lsn() - '0/0' AS wal
     FROM pg_stat_database WHERE datname = $1`,
    [new URL(url).pathname.slice(1)],
  )
  const [row] = rows
  return {
    'PostgreSQL: commits': Number(row?.commits),
    'PostgreSQL: rows written': Number(row?.rows),
    'PostgreSQL: KB of write-ahead log': Number(row?.wal) / 1024,
    'PostgreSQL: ms of CPU': cpuSeconds(pids) * 1000,
  }
}

/** The numbers of `INFO`, by the names that Redis has for them. */
async function readInfo(url: string, section: string): Promise<ReadonlyMap<string, string>> {
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.end(`INFO ${section}\r\n`)
  const lines = (await text(socket)).split('\r\n').filter(line => line.includes(':'))
  return new Map(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

async function countRedis({ url, pid }: { readonly url: string; readonly pid: number }): Promise<Counts> {
  const calls = [...(await readInfo(url, 'commandstats'))].map(
    ([name, value]) => [name.slice('cmdstat_'.length), Number(/calls=(\d+)/.exec(value)?.[1])] as const,
  )
  const total = calls.reduce((sum, [, times]) => sum + times, 0)
  // Commands of clients; the scripts call the others.
  const scripts = calls
    .filter(([name]) => /^(?:evalsha|eval|fcall)$/.test(name))
    .reduce((sum, [, times]) => sum + times, 0)
  return {
    'Redis: scripts': scripts,
    'Redis: commands in scripts': total - scripts,
    'Redis: ms of CPU': cpuSeconds([pid]) * 1000,
  }
}

const memoryOf = async (url: string): Promise<number> => Number((await readInfo(url, 'memory')).get('used_memory'))

/** Heap bytes of one key with a limit of requests and one of tokens, of which it used some, counted in memory. */
async function measureCounters(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const quiet = { debug() {}, info() {}, warn() {}, error() {} }
  const counters = await openCounters({ url: 'memory:', clock: systemClock, log: quiet })
  const demand = (id: string, amount: number) =>
    ({ id, kind: 'window', limit: 1_000_000, amount, shadow: false }) as const
  collect()
  const before = process.memoryUsage().heapUsed
  for (let key = 0; key < countedKeys; key++)
    await counters.take([demand(`rpm key ${key}`, 1), demand(`tpm key ${key}`, 500)], 'refuse')
  collect()
  const bytes = (process.memoryUsage().heapUsed - before) / countedKeys
  await counters.close()
  return bytes
}

async function measure(keys: number): Promise<void> {
  const { postgres, pids } = await startServer()
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-store-load-'))
  const stop = new AbortController()
  try {
    const site: Site = { folder, stop, upstream: await startUpstream({ folder, stop }) }
    const [redis, url] = [await startRedis(site), await postgres.createDatabase()]
    const target = await startOnPostgres(postgres, url, { site, name: 'store-load', counters: redis.url, keys })
    const secrets = (await readFile(target.keysFile, 'utf8')).split('\n')
    // Keys in turn, so that the number of keys in use is the number of requests, or of all keys.
    let next = 0
    const headersOf = () => ({
      'content-type': 'application/json',
      authorization: `Bearer ${secrets[next++ % secrets.length]}`,
    })
    const body = Buffer.from(chatRequest('bench-chat-0', false))
    const send = async (forSeconds: number) => {
      const sent = await loadPaced(`${target.url}/v1/chat/completions`, { rate, seconds: forSeconds, body, headersOf })
      if (sent.failed.length > 0)
        process.stderr.write(
          `bench: ${sent.failed.length} of ${sent.requests} failed: ${[...new Set(sent.failed)].join(', ')}\n`,
        )
      await sleep(settleMs)
      return sent
    }
    await send(2)
    // Read from another database, so that the bench's own queries are not counted.
    const client = await postgres.connect(await postgres.createDatabase())
    const count = async () => ({ ...(await countPostgres(client, url, pids())), ...(await countRedis(redis)) })
    const [before, memory] = [await count(), await memoryOf(redis.url)]
    const foreign = watchForeignCpu()
    const { requests } = await send(seconds)
    const [after, cores] = [await count(), foreign()]
    const grown = ((await memoryOf(redis.url)) - memory) / Math.min(keys, requests)
    await client.end()
    const { statements, statementsOf } = await countStatements(postgres, url, async () => send(seconds))
    process.stdout.write(
      `\n${keys} keys, ${rate} requests a second for ${seconds} s; others kept ${cores.toFixed(2)} cores busy\n`,
    )
    process.stdout.write('\n| load | a second, for 1,000 requests a second |\n|---|---|\n')
    const each = (name: string, perRequest: number) =>
      process.stdout.write(`| ${name} | ${figure(perRequest * 1000)} |\n`)
    each('PostgreSQL: statements', statements)
    for (const [name, from] of Object.entries(before)) each(name, ((after[name] ?? Number.NaN) - from) / requests)
    process.stdout.write(`\nbytes a key in use: Redis ${figure(grown)}\n`)
    for (const [statement, times] of Object.entries(statementsOf).slice(0, 8))
      process.stdout.write(`  ${figure(times * 1000)} × ${statement}\n`)
  } finally {
    stop.abort()
    await postgres.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

for (const keys of options.keys.split(',')) await measure(Number(keys))
process.stdout.write(`\nbytes a key in use with counters in memory, two limits: ${figure(await measureCounters())}\n`)
