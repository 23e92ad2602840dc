import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Charged, loadCharged, startCharged } from './charged.ts'
import { fillKeys, prepareDatabase } from './fill.ts'
import { cpuSeconds, median } from './measure.ts'
import { startRedis } from './redis.ts'
import type { Verdict } from './rows.ts'
import { type Site, startUpstream } from './targets.ts'

const counts = [1, 2, 4]
const keys = 1_000

type OfWorkers = {
  readonly requestsPerSecond: number
  /** Of all processes of the gateway together, including the supervisor. */
  readonly requestsPerCpuSecond: number
  /** Per request, for all processes; and for their event loops alone. */
  readonly cpuMicros: number
  readonly mainMicros: number
  readonly p99Ms: number
  /** The connections of the busiest worker, divided by those under an equal distribution. */
  readonly connectionsMostOverMean: number
  /** The same for their CPU time, which is proportional to the answered requests. */
  readonly cpuMostOverMean: number
}

/** By the number of workers. */
export type WorkersMeasured = { readonly [workers: string]: OfWorkers }

export type WorkersAsked = { readonly runs: number; readonly seconds: number; readonly warmSeconds: number }

/** The same gateway in 1, 2 and 4 processes on SQLite, its limits in Redis, in turns. */
export async function measureWorkers({ runs, seconds, warmSeconds }: WorkersAsked): Promise<WorkersMeasured> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-workers-'))
  const stop = new AbortController()
  try {
    const site: Site = { folder, stop, upstream: await startUpstream({ folder, stop }) }
    const { url: counters } = await startRedis(site)
    const targets: Charged[] = []
    for (const workers of counts) {
      const file = join(folder, `${workers}.db`)
      const storage = `sqlite:${file}`
      await prepareDatabase(storage)
      const secrets = fillKeys(file, keys)
      targets.push(await startCharged({ site, name: String(workers), storage, secrets, counters, workers }))
    }
    const taken = new Map<string, OfWorkers[]>(targets.map(({ name }) => [name, []]))
    // Each process compiles its own hot code, and all of them share the cores.
    for (const [i, target] of targets.entries()) await loadCharged(target, warmSeconds * (counts[i] ?? 1))
    for (let run = 0; run < runs; run++) {
      for (const target of targets) taken.get(target.name)?.push(await measureOnce(target, seconds))
      process.stderr.write(`  run ${run + 1} of ${runs}\n`)
    }
    return Object.fromEntries([...taken].map(([name, all]) => [name, medians(all)]))
  } finally {
    stop.abort()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

export function judgeWorkers(measured: WorkersMeasured): readonly Verdict[] {
  const alone = measured['1']?.requestsPerCpuSecond ?? Number.NaN
  return Object.entries(measured)
    .filter(([workers]) => workers !== '1')
    .flatMap(([workers, of]) => [
      { text: `requests a CPU second, ${workers} over 1`, value: of.requestsPerCpuSecond / alone, atLeast: 0.9 },
      {
        text: `connections of the busiest of ${workers}, over the mean`,
        value: of.connectionsMostOverMean,
        atMost: 1.1,
      },
      { text: `CPU of the busiest of ${workers}, over the mean`, value: of.cpuMostOverMean, atMost: 1.2 },
    ])
}

async function measureOnce(target: Charged, seconds: number): Promise<OfWorkers> {
  const pids = target.pids()
  // With several processes, the first one only supervises.
  const workers = pids.length > 1 ? pids.slice(1) : pids
  const before = workers.map(pid => cpuSeconds([pid]))
  const loading = loadCharged(target, seconds)
  await sleep(seconds * 500)
  const connections = workers.map(pid => countConnections(pid, Number(new URL(target.url).port)))
  const { requestsPerSecond, cpuMicros, mainMicros, p99Ms } = await loading
  const used = workers.map((pid, i) => cpuSeconds([pid]) - (before[i] ?? 0))
  return {
    requestsPerSecond,
    requestsPerCpuSecond: 1e6 / cpuMicros,
    cpuMicros,
    mainMicros,
    p99Ms,
    connectionsMostOverMean: mostOverMean(connections),
    cpuMostOverMean: mostOverMean(used),
  }
}

/** 1 for an equal distribution; the number of workers if one of them has everything. */
export function mostOverMean(values: readonly number[]): number {
  return (Math.max(...values) * values.length) / values.reduce((sum, value) => sum + value, 0)
}

const established = '01'

/** Connections to a local port that a process has accepted. */
export function countConnections(pid: number, port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const inodes = new Set<string>()
  for (const line of readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/)
    if (fields[1]?.endsWith(local) && fields[3] === established) inodes.add(`socket:[${fields[9]}]`)
  }
  return readdirSync(`/proc/${pid}/fd`).filter(fd => inodes.has(linkOf(`/proc/${pid}/fd/${fd}`))).length
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    // Closed meanwhile.
    return ''
  }
}

function medians(all: readonly OfWorkers[]): OfWorkers {
  const of = (read: (one: OfWorkers) => number): number => median(all.map(read))
  return {
    requestsPerSecond: of(one => one.requestsPerSecond),
    requestsPerCpuSecond: of(one => one.requestsPerCpuSecond),
    cpuMicros: of(one => one.cpuMicros),
    mainMicros: of(one => one.mainMicros),
    p99Ms: of(one => one.p99Ms),
    connectionsMostOverMean: of(one => one.connectionsMostOverMean),
    cpuMostOverMean: of(one => one.cpuMostOverMean),
  }
}
