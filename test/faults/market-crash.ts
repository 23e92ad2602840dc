import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type ChildGateway, runTollgate } from '../harness/child.ts'
import { startPostgres } from '../harness/postgres.ts'
import { startRedisCluster } from '../harness/redis-cluster.ts'
import { startRedis } from '../harness/redis.ts'
import { type Life, newLife } from './load.ts'
import { judgeLevels, readLevels, readSales } from './market-books.ts'
import { runCallers } from './market-callers.ts'
import { judgeMarket, judgeRest, type MarketSums } from './market-judge.ts'
import type { MarketOrder } from './market-orders.ts'
import { openMarket, rpm } from './market-site.ts'
import { openMarketVendor } from './market-vendor.ts'
import type { Look } from './oracle.ts'
import { runScript } from './run-script.ts'
import { seeded } from '../harness/seed.ts'

/** The place of the counters. */
export type Counted = 'memory' | 'redis' | 'spread'

export type MarketOptions = {
  readonly database: 'postgres' | 'sqlite'
  readonly counters: Counted
  readonly kills: number
  /** Minimum number of requests, including refused ones. */
  readonly requests: number
  /** Number of concurrent requests. */
  readonly parallel: number
  readonly seed: number
  /** Leases expire by themselves. `false`: the leases of killed gateways are ended, when a test cannot wait. */
  readonly isPatient: boolean
  /** PostgreSQL syncs to the disk, as by default. Killing gateways has the same effect without. */
  readonly isSynced: boolean
  /** Receives the progress, at each kill. */
  readonly say?: (progress: object) => void
}

export type MarketSummary = MarketSums & {
  readonly database: string
  readonly counters: string
  readonly zone: string
  readonly seed: number
  readonly gateways: number
  readonly kills: number
  /** Number of kills before the gateway was ready. */
  readonly killsAtStart: number
  /** Number of reads of all levels during requests. */
  readonly looks: number
  /** Number of deadlocks that PostgreSQL ended. */
  readonly deadlocks: number
  /** Charges and holds that remain at the end. */
  readonly stuck: number
  /** The longest time that a charge of a killed gateway was seen open, in seconds. */
  readonly openSecondsMost: number
  readonly seconds: number
}

/** A multiple of the maximum time of leases, jobs and retries together. */
const restMs = 180_000

type Slot = { child: ChildGateway; life: Promise<Life>; isReady: boolean }

/**
 * Complete gateways are killed and restarted while callers request text, pictures, links and jobs with 37 keys with
 * budgets of every kind, at the limit of those budgets. The vendor's sales and what callers received are compared with
 * the charges; the levels are compared with the charges, and at every moment with one another.
 */
export async function crashMarket(t: Pick<Test, 'teardown'>, options: MarketOptions): Promise<MarketSummary> {
  const { kills, requests, parallel, seed, isPatient, say = () => undefined } = options
  const began = performance.now()
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-market-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const [orders, violations]: [MarketOrder[], string[]] = [[], []]
  const vendor = await openMarketVendor(orders, random)
  t.teardown(() => vendor.close())
  const { storage, look } = await openDatabase(t, folder, options)
  const counters = await openCounters(t, options.counters)
  const ofKey = requests / (kills + 1) / 37
  const market = await openMarket({ folder, url: vendor.url, storage, counters, ofKey, random })
  t.teardown(() => market.close())

  const gateways = options.database === 'postgres' ? 3 : 1
  const slots: Slot[] = []
  t.teardown(() => Promise.all(slots.map(({ child }) => child.kill())))
  let born = 0
  const begin = (at: number): void => {
    const child = market.site.start()
    const slot: Slot = { child, isReady: false, life: child.ready.then(url => newLife(born++, url, true)) }
    slots[at] = slot
    slot.life.then(
      () => (slot.isReady = true),
      () => undefined,
    )
  }
  for (let at = 0; at < gateways; at++) begin(at)
  await Promise.all(slots.map(({ life }) => life))

  const over = new AbortController()
  const target = async (): Promise<Life | undefined> => {
    while (!over.signal.aborted) {
      const ready = slots.filter(({ isReady }) => isReady)
      const slot = ready[Math.floor(random() * ready.length)]
      const life = await slot?.life
      if (life && life.killedAt === undefined) return life
      await sleep(10)
    }
    return undefined
  }
  const complain = (sentence: string): void => void violations.push(sentence)
  const loadedAt = performance.now()
  const load = runCallers({ target, payers: market.payers, orders, random, parallel, complain })
  const watch = watchLevels(look, market.groups, complain)

  let killsAtStart = 0
  const gone = new Map<number, number>()
  const kill = async (at: number): Promise<void> => {
    const { child, life, isReady } = slots[at] as Slot
    if (isReady) (await life).killedAt = performance.now()
    else killsAtStart++
    await child.kill()
    gone.set(child.pid, performance.now())
    if (!isPatient) await endLeases(look, [child.pid])
    begin(at)
  }
  for (let done = 0; done < kills; done++) {
    const share = ((done + 1) * requests) / (kills + 1)
    while (orders.length < share && violations.length === 0) await sleep(20)
    await sleep(random() * 200)
    const at = Math.floor(random() * gateways)
    // Some are killed before they are ready, most of them during work.
    if (random() > 0.15) await slots[at]?.life
    await kill(at)
    await market.raise()
    say({ kill: done + 1, requests: orders.length, looks: watch.looks, violations: violations.length })
  }
  while (orders.length < requests && violations.length === 0) await sleep(20)
  await Promise.all(slots.map(({ life }) => life))
  over.abort()
  await load.over
  const loadMs = performance.now() - loadedAt

  const end = performance.now() + restMs
  let openMs = 0
  for (let open = await openOf(look); open > 0 && performance.now() < end; open = await openOf(look)) {
    if (gone.size > 0) openMs = performance.now() - Math.max(...gone.values())
    if (!isPatient) await endLeases(look, [...gone.keys()])
    await sleep(100)
  }
  await watch.stop()
  for (const { child } of slots) {
    await child.stop()
    const exit = await child.gone
    if (exit !== 0) violations.push(`a gateway that was told to stop ended with ${exit}`)
  }
  const stuck = await openOf(look)
  const deadlocks = options.database === 'postgres' ? await deadlocksOf(look) : 0
  const sales = await readSales(look)
  const levels = await readLevels(look)
  violations.push(...judgeLevels(levels, market.groups), ...judgeRest(levels, sales))
  violations.push(...judgeLimits(orders, loadMs, options.counters))
  const verified = await runTollgate(market.site, ['ledger', 'verify', '-c', market.site.config], market.env)
  if (verified.code !== 0) violations.push(`ledger verify: ${verified.stdout} ${verified.stderr}`)
  const sums = judgeMarket(orders, sales, parallel)
  return {
    database: options.database,
    counters: options.counters,
    zone: market.zone,
    seed,
    gateways,
    kills,
    killsAtStart,
    looks: watch.looks,
    ...sums,
    deadlocks,
    stuck,
    openSecondsMost: Math.round(openMs / 100) / 10,
    violations: [...violations, ...sums.violations],
    seconds: Math.round((performance.now() - began) / 1_000),
  }
}

/** The gateways' database, and how to query it next to them. */
async function openDatabase(
  t: Pick<Test, 'teardown'>,
  folder: string,
  { database, isSynced }: MarketOptions,
): Promise<{ readonly storage: string; readonly look: Look }> {
  if (database === 'sqlite') {
    const path = join(folder, 'tollgate.db')
    const look: Look = async sql => {
      const db = new DatabaseSync(path, { timeout: 5_000 })
      try {
        return db.prepare(sql).all()
      } finally {
        db.close()
      }
    }
    return { storage: `sqlite:${path}`, look }
  }
  const server = await startPostgres(isSynced ? [] : ['fsync=off'])
  t.teardown(() => server.close())
  const storage = await server.createDatabase()
  const client = await server.connect(storage)
  t.teardown(() => client.end())
  return { storage, look: async sql => (await client.query(sql)).rows }
}

async function openCounters(t: Pick<Test, 'teardown'>, counted: Counted): Promise<string> {
  if (counted === 'memory') return 'memory:'
  if (counted === 'redis') return (await startRedis(t)).url
  const { nodes } = await startRedisCluster(t)
  return `${nodes[0]?.url}?cluster=spread`
}

/** Expires the leases of processes that have ended. */
async function endLeases(look: Look, pids: readonly number[]): Promise<void> {
  for (const pid of pids) await look(`UPDATE replica SET lease_until = 0 WHERE host LIKE '%:${pid}'`)
}

/** Open charges, and held amounts. */
async function openOf(look: Look): Promise<number> {
  const [row] = await look(`SELECT (SELECT count(*) FROM charge WHERE state = 'reserved')
    + (SELECT count(*) FROM key WHERE held <> 0) + (SELECT count(*) FROM account WHERE held <> 0) AS n`)
  return Number(row?.['n'])
}

async function deadlocksOf(look: Look): Promise<number> {
  const [row] = await look('SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()')
  return Number(row?.['n'])
}

/** Reads all levels repeatedly, until stopped. */
function watchLevels(
  look: Look,
  groups: Parameters<typeof judgeLevels>[1],
  complain: (sentence: string) => void,
): { readonly looks: number; stop(): Promise<void> } {
  let looks = 0
  const over = new AbortController()
  const watching = (async () => {
    while (!over.signal.aborted) {
      const levels = await readLevels(look)
      // Read after the levels: a budget that was raised in between is the larger one, for the gateways too.
      for (const fault of judgeLevels(levels, groups)) complain(`look ${looks}: ${fault}`)
      looks++
      await sleep(50)
    }
  })()
  watching.catch((error: unknown) => complain(`a look failed: ${String(error)}`))
  return {
    get looks() {
      return looks
    },
    async stop() {
      over.abort()
      await watching.catch(() => undefined)
    },
  }
}

/** With any number of gateways, the vendor receives at most the limit of all of them together. */
function judgeLimits(orders: readonly MarketOrder[], loadMs: number, counted: Counted): readonly string[] {
  // With counters in memory each process counts alone, and a killed one has lost its counts.
  if (counted === 'memory') return []
  const windows = Math.floor(loadMs / 60_000) + 1
  const own = orders.filter(({ payer }) => payer.group === rpm.group)
  const countCalls = (some: readonly MarketOrder[]): number => some.reduce((sum, one) => sum + one.asked, 0)
  const faults: string[] = []
  const judge = (whose: string, times: number, limit: number): void => {
    if (times > limit * windows) faults.push(`${whose}: ${times} were admitted in ${windows} windows of ${limit}`)
  }
  judge(`group ${rpm.group}`, countCalls(own), rpm.inAll)
  for (const [user, some] of Map.groupBy(own, ({ payer }) => payer.user))
    judge(`user ${user}`, countCalls(some), rpm.perUser)
  return faults
}

// `KILLS=50 REQUESTS=5000 npm run test:crash:fleet`: three gateways on PostgreSQL, with counters in one Redis, in a
// cluster with spread keys, and in each process; one JSON object per run to standard output, a broken promise
// is exit 1. DATABASE=sqlite: one gateway. COUNTERS=redis,spread,memory selects, FSYNC=off is faster.
if (import.meta.main) {
  const of = (name: string, usual: string): string => process.env[name] ?? usual
  const seed = Number(of('SEED', String(Date.now() % 1e9)))
  const given = { KILLS: of('KILLS', '50'), REQUESTS: of('REQUESTS', '5000'), PARALLEL: of('PARALLEL', '200') }
  const database = of('DATABASE', 'postgres') === 'sqlite' ? 'sqlite' : 'postgres'
  const isSynced = of('FSYNC', 'on') === 'on'
  for (const counters of of('COUNTERS', 'redis,spread,memory').split(',') as Counted[]) {
    const words = Object.entries({
      ...given,
      SEED: seed,
      DATABASE: database,
      COUNTERS: counters,
      FSYNC: of('FSYNC', 'on'),
    })
    const command = `${words.map(word => word.join('=')).join(' ')} node test/faults/market-crash.ts`
    process.stderr.write(`${command}\n`)
    await runScript(async t => {
      const summary = await crashMarket(t, {
        database,
        counters,
        kills: Number(given.KILLS),
        requests: Number(given.REQUESTS),
        parallel: Number(given.PARALLEL),
        seed,
        isPatient: true,
        isSynced,
        say: progress => process.stderr.write(`${JSON.stringify(progress)}\n`),
      })
      if (summary.violations.length > 0) process.stderr.write(`to repeat: ${command}\n`)
      return { ...summary, violations: summary.violations.slice(0, 50) }
    })
  }
}
