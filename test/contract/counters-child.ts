import type { LimitRequest } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { silentLog } from './storage.ts'

// One of several processes on one Redis: for each job it is sent, it asks as often as told, all at once, and says how many
// were admitted.
export type Job = { readonly demands: readonly LimitRequest[]; readonly times: number }

// How fast the machine is decides nothing here.
const commandMs = 20_000
const counters = new RedisCounters({ url: process.argv[2] ?? '', clock: systemClock, log: silentLog, commandMs })
await counters.ready()

async function run({ demands, times }: Job): Promise<number> {
  const asked = Array.from({ length: times }, async () => counters.take(demands, 'refuse'))
  return (await Promise.all(asked)).filter(({ ticket }) => ticket).length
}

process.on('message', (job: Job) => void run(job).then(admitted => process.send?.(admitted)))
process.on('disconnect', () => void counters.close())
process.send?.('ready')
