import type { LimitRequest } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { silentLog } from './storage.ts'

// One of several processes on one Redis. For each job it receives, it sends the requested number of demands at once and
// reports how many were admitted.
export type Job = { readonly demands: readonly LimitRequest[]; readonly times: number }

// The timeout is long so that a slow machine does not change the result.
const commandMs = 20_000
const counters = new RedisCounters({ url: process.argv[2] ?? '', clock: systemClock, log: silentLog, commandMs })
await counters.ready()

async function run({ demands, times }: Job): Promise<number> {
  const pending = Array.from({ length: times }, async () => counters.take(demands, 'refuse'))
  return (await Promise.all(pending)).filter(({ ticket }) => ticket).length
}

process.on('message', (job: Job) => void run(job).then(admitted => process.send?.(admitted)))
process.on('disconnect', () => void counters.close())
process.send?.('ready')
