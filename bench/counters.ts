import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import type { LimitRequest } from '../src/domain/index.ts'
import type { Log } from '../src/plugin-api/index.ts'
import { systemClock } from '../src/util/index.ts'
import { openCounters } from '../src/storage/counters/index.ts'
import { cpuSeconds, median } from './measure.ts'
import { answering, freePort } from './targets.ts'

const requestsAtOnce = 64
const keys = 1_000

export type CountersMeasured = {
  readonly requestsPerSecond: number
  /** For each request: one call to Redis for admission, and one to report usage. */
  readonly redisCpuMicros: number
  readonly p50Ms: number
  /** Number of requests that Redis did not answer in time: the machine was busy. */
  readonly unanswered: number
}

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** The cost of a request's limits in a local Redis: taken once the model is known, then settled. */
export async function measureCounters(runs: number, seconds: number): Promise<CountersMeasured> {
  const port = await freePort()
  const stop = new AbortController()
  const args = ['--port', String(port), '--save', '', '--appendonly', 'no', '--daemonize', 'no']
  const redis = spawn('redis-server', args, { stdio: 'ignore', signal: stop.signal })
  redis.on('error', () => undefined)
  try {
    await answering(port)
    const counters = await openCounters({ url: `redis://127.0.0.1:${port}`, clock: systemClock, log: quiet })
    const pids = [redis.pid ?? 0]
    const taken: CountersMeasured[] = []
    const limitOnce = async (): Promise<void> => {
      const { standing, all } = demandsOf(Math.floor(Math.random() * keys))
      // Like the plugin before it reads a short body: uses this process's state, without a call.
      if (counters.known(standing, 'refuse')) throw new Error('a limit that nobody meets was full')
      const { ticket } = await counters.take(all, 'refuse')
      if (!ticket) throw new Error('a limit that nobody meets was full')
      await counters.settle(
        ticket,
        all.map(({ amount }) => amount),
      )
    }
    for (let run = 0; run < runs; run++) taken.push(await measureOnce(limitOnce, pids, seconds))
    await counters.close()
    return {
      requestsPerSecond: median(taken.map(one => one.requestsPerSecond)),
      redisCpuMicros: median(taken.map(one => one.redisCpuMicros)),
      p50Ms: median(taken.map(one => one.p50Ms)),
      unanswered: taken.reduce((sum, one) => sum + one.unanswered, 0),
    }
  } finally {
    stop.abort()
  }
}

/** Requests and tokens of a key, requests of a model, slots of a key: the demands of a request with every limit. */
function demandsOf(key: number): { readonly standing: readonly LimitRequest[]; readonly all: readonly LimitRequest[] } {
  const demand = (id: string, amount: number): LimitRequest => ({
    id,
    kind: 'window',
    limit: 1_000_000_000,
    amount,
    shadow: false,
  })
  const ofKey = [demand(`rpm key ${key}`, 1), demand(`tpm key ${key}`, 500)]
  const places: LimitRequest = { id: `concurrency key ${key}`, kind: 'places', limit: 10_000, amount: 1, shadow: false }
  return { standing: ofKey, all: [...ofKey, demand('rpm model one', 1), places] }
}

async function measureOnce(
  limitOnce: () => Promise<void>,
  pids: readonly number[],
  seconds: number,
): Promise<CountersMeasured> {
  const before = cpuSeconds(pids)
  const began = performance.now()
  const took: number[] = []
  let unanswered = 0
  const limitInTurn = async (): Promise<void> => {
    while (performance.now() - began < seconds * 1000) {
      const from = performance.now()
      // After an immediate refusal the store is soon tried again.
      const isAnswered = await limitOnce().then(
        () => true,
        () => setImmediate(false),
      )
      if (isAnswered) took.push(performance.now() - from)
      else unanswered++
    }
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, limitInTurn))
  return {
    requestsPerSecond: (took.length * 1000) / (performance.now() - began),
    redisCpuMicros: ((cpuSeconds(pids) - before) * 1e6) / took.length,
    p50Ms: median(took),
    unanswered,
  }
}
