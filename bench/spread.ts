import type { Counters, LimitRequest } from '../src/domain/index.ts'
import type { Log } from '../src/plugin-api/index.ts'
import { systemClock } from '../src/util/index.ts'
import { RedisCounters } from '../src/storage/counters/redis/counters.ts'
import { type RedisServer, startRedis } from '../test/harness/redis.ts'
import { startRedisCluster } from '../test/harness/redis-cluster.ts'
import { cpuSeconds } from './measure.ts'

// The cost of limits in Redis in one slot, and spread over a cluster of three nodes: node bench/spread.ts
// Each request has four limits, of one of 1,000 keys, and where stated of a model; it takes and settles them.
// Microseconds of CPU per request: of each node, and of this process.
const keys = 1_000
const [warmMs, measuredMs] = [500, 2_500]
const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

type Servers = { readonly name: string; readonly url: string; readonly nodes: readonly RedisServer[] }
type Load = { readonly atOnce: number; readonly hasModel: boolean }

function demandsOf(key: number, hasModel: boolean): readonly LimitRequest[] {
  const ofKey = `key ${key}`
  const demand = (id: string, amount: number, owner: string): LimitRequest => ({
    id: `${id} ${owner}`,
    owner,
    kind: 'window',
    limit: 1_000_000_000,
    amount,
    shadow: false,
  })
  return [
    demand('rpm', 1, ofKey),
    demand('tpm', 500, ofKey),
    demand('rpm of a model', 1, hasModel ? 'model one' : ofKey),
    { ...demand('concurrency', 1, ofKey), kind: 'places', limit: 10_000 },
  ]
}

async function limitOnce(counters: Counters, hasModel: boolean): Promise<void> {
  const demands = demandsOf(Math.floor(Math.random() * keys), hasModel)
  const { ticket } = await counters.take(demands, 'refuse')
  if (!ticket) throw new Error('a limit that nobody meets was full')
  await counters.settle(
    ticket,
    demands.map(({ amount }) => amount),
  )
}

/** The number of requests within the time. */
async function limitFor(ms: number, counters: Counters, { atOnce, hasModel }: Load): Promise<number> {
  const end = performance.now() + ms
  let count = 0
  const inTurn = async (): Promise<void> => {
    for (; performance.now() < end; count++) await limitOnce(counters, hasModel)
  }
  await Promise.all(Array.from({ length: atOnce }, inTurn))
  return count
}

async function measure({ name, url, nodes }: Servers, load: Load): Promise<void> {
  // On a busy machine answers arrive late, at the same cost.
  const counters = new RedisCounters({ url, clock: systemClock, log: quiet, commandMs: 20_000 })
  await counters.ready()
  const pids = await Promise.all(nodes.map(pidOf))
  await limitFor(warmMs, counters, load)
  const cpu = (): readonly number[] => [...pids, process.pid].map(pid => cpuSeconds([pid]))
  const before = cpu()
  const count = await limitFor(measuredMs, counters, load)
  const micros = cpu().map((seconds, i) => ((seconds - (before[i] as number)) * 1e6) / count)
  await counters.close()
  const own = micros.pop() as number
  const each = micros.map(one => one.toFixed(0)).join(' + ')
  process.stdout.write(
    `${name}, ${load.atOnce} at once, ${load.hasModel ? 'a model for all' : 'all of the key'}: Redis ${each}, this process ${own.toFixed(0)}\n`,
  )
}

async function pidOf(node: RedisServer): Promise<number> {
  return Number(/process_id:(\d+)/.exec(await node.text('INFO', 'server'))?.[1])
}

const teardowns: (() => unknown)[] = []
const site = { teardown: (end: () => unknown) => void teardowns.push(end) }
try {
  const one = await startRedis(site)
  const { nodes } = await startRedisCluster(site)
  for (const atOnce of [64, 8])
    for (const hasModel of [true, false]) {
      await measure({ name: 'one slot', url: one.url, nodes: [one] }, { atOnce, hasModel })
      await measure({ name: 'spread', url: `${nodes[0]?.url}?cluster=spread`, nodes }, { atOnce, hasModel })
    }
} finally {
  for (const end of teardowns) await end()
}
