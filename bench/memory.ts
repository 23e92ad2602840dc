import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chatRequest, editForm } from './bodies.ts'
import { load, loadCounted, type LoadResult, median, peakMegabytes, readLoopDelay, resetPeak } from './measure.ts'
import type { Verdict } from './rows.ts'
import { type Running, type Site, starters, startUpstream } from './targets.ts'

// Measures a gateway's memory, second by second, while it is kept busy for minutes.

const everyMs = 1_000
const megabyte = 1024 * 1024
const json = 'application/json'

type Work = {
  readonly name: string
  readonly title: string
  readonly path: string
  readonly connections: number
  readonly peakMegabytesMax: number
  readonly contentType: string
  /** Created on demand, because it may be large. */
  body(this: void): Buffer
  /** Number of requests per round, each to its last byte; undefined for as many as fit into the time. */
  readonly round?: number
}

/** The maximum size of a form: 32 MiB including everything around the picture. */
const small = editForm('bench-image', 64)
const largest = (): Buffer => editForm('bench-image', 32 * megabyte - (small.body.length - 64)).body

export const memoryWorks: readonly Work[] = [
  {
    name: 'memory-chat',
    title: 'chat of 1 KiB, 64 connections',
    path: '/v1/chat/completions',
    connections: 64,
    peakMegabytesMax: 250,
    contentType: json,
    body: () => Buffer.from(chatRequest('bench-chat', false)),
  },
  {
    name: 'memory-answer',
    title: 'image answer of 4 × 4 MB as base64 (22 MB), 8 at once',
    path: '/v1/images/generations',
    connections: 8,
    peakMegabytesMax: 300,
    contentType: json,
    body: () => Buffer.from(JSON.stringify({ model: 'bench-image', prompt: 'a boat', n: 4 })),
    round: 64,
  },
  {
    name: 'memory-edit',
    title: 'image edit of 32 MB, 64 at once',
    path: '/v1/images/edits',
    connections: 64,
    peakMegabytesMax: 350,
    contentType: small.contentType,
    body: largest,
    round: 128,
  },
]

type Sample = {
  readonly second: number
  /** Resident memory of the gateway's complete process. */
  readonly megabytes: number
  /** The delay in the previous second; NaN if the gateway did not report it. */
  readonly loopP99Ms: number
}

/** One minute of the curve. */
export type Minute = {
  readonly minute: number
  readonly least: number
  readonly median: number
  readonly most: number
  readonly loopP99Ms: number
}

export type MemoryMeasured = {
  /** The peak, including times between two samples: from the kernel. */
  readonly peakMegabytes: number
  readonly requestsPerSecond: number
  readonly failed: number
  readonly minutes: readonly Minute[]
  readonly samples: readonly Sample[]
}

/** Keeps a gateway busy for this many minutes and samples it each second. */
export async function measureMemory(work: Work, minutes: number): Promise<MemoryMeasured> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-memory-'))
  const stop = new AbortController()
  try {
    const site: Site = { folder, stop, upstream: await startUpstream({ folder, stop }) }
    const gateway = await starters.tollgate(site)
    const [pid = 0] = gateway.pids()
    const bodyFile = join(folder, 'request')
    const body = work.body()
    await writeFile(bodyFile, body)
    const headers = { 'content-type': work.contentType, ...gateway.headers }
    const { connections } = work
    const what = { url: gateway.url + work.path, headers, bodyFile, connections, seconds: minutes * 60 }
    // The peak counts from the start of the process: memory of the first requests is a part of it.
    resetPeak([pid])
    const watching = watch(pid, gateway)
    const result = work.round === undefined ? await load(what) : await loadRounds(what, body, work.round)
    const samples = await watching.end()
    const { requests, seconds, errors: failed } = result
    return {
      peakMegabytes: peakMegabytes([pid]),
      requestsPerSecond: requests / seconds,
      failed,
      minutes: byMinute(samples),
      samples,
    }
  } finally {
    stop.abort()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

export function judgeMemory({ peakMegabytesMax }: Work, measured: MemoryMeasured): readonly Verdict[] {
  // Unbounded growth shows between the early minutes and the last.
  const [early, last] = [measured.minutes[1], measured.minutes.at(-1)]
  const isLong = early !== undefined && last !== undefined && last.minute >= 3
  const growth = isLong
    ? [{ text: 'median of the last minute over the second', value: last.median / early.median, atMost: 1.1 }]
    : []
  return [
    { text: 'peak RSS, MB', value: measured.peakMegabytes, atMost: peakMegabytesMax },
    { text: 'requests that failed', value: measured.failed, atMost: 0 },
    ...growth,
  ]
}

/** The curve, a line for each minute. */
export function describeMinutes(minutes: readonly Minute[]): readonly string[] {
  const figure = (value: number): string => (Number.isFinite(value) ? value.toFixed(0) : '–').padStart(5)
  const lines = minutes.map(({ minute, least, median: middle, most, loopP99Ms }) => {
    const loop = Number.isFinite(loopP99Ms) ? loopP99Ms.toFixed(1) : '–'
    return `minute ${String(minute).padStart(2)}: ${figure(least)} ${figure(middle)} ${figure(most)} MB, loop p99 ${loop} ms`
  })
  return ['RSS: least, median, most of each minute; the median of the loop delay of its seconds', ...lines]
}

export function byMinute(samples: readonly Sample[]): readonly Minute[] {
  const groups = Map.groupBy(samples, ({ second }) => Math.floor(second / 60) + 1)
  return [...groups].map(([minute, of]) => {
    const sizes = of.map(({ megabytes }) => megabytes)
    const delays = of.map(({ loopP99Ms }) => loopP99Ms).filter(Number.isFinite)
    return {
      minute,
      least: Math.min(...sizes),
      median: median(sizes),
      most: Math.max(...sizes),
      loopP99Ms: median(delays),
    }
  })
}

/** Rounds of complete requests until the time is over. */
async function loadRounds(what: Parameters<typeof load>[0], body: Buffer, round: number): Promise<LoadResult> {
  const until = performance.now() + what.seconds * 1000
  const rounds: LoadResult[] = []
  while (performance.now() < until) rounds.push(await loadCounted(what, body, round))
  const sum = (read: (one: LoadResult) => number): number => rounds.reduce((total, one) => total + read(one), 0)
  return {
    requests: sum(one => one.requests),
    seconds: sum(one => one.seconds),
    errors: sum(one => one.errors),
    p50Ms: median(rounds.map(one => one.p50Ms)),
    p99Ms: median(rounds.map(one => one.p99Ms)),
  }
}

/** Samples each second until stopped. */
function watch(pid: number, { ops }: Running): { end(): Promise<readonly Sample[]> } {
  const stop = new AbortController()
  const samples: Sample[] = []
  const began = performance.now()
  const run = async (): Promise<void> => {
    for (let next = began + everyMs; !stop.signal.aborted; next += everyMs) {
      await sleep(Math.max(0, next - performance.now()), undefined, { signal: stop.signal }).catch(() => undefined)
      if (stop.signal.aborted) return
      const second = Math.round((performance.now() - began) / 1000) - 1
      const megabytes = residentMegabytes(pid)
      const loopP99Ms = ops === undefined ? Number.NaN : await readLoopDelay(ops).catch(() => Number.NaN)
      samples.push({ second, megabytes: Math.round(megabytes * 10) / 10, loopP99Ms: Math.round(loopP99Ms * 10) / 10 })
    }
  }
  const running = run()
  return {
    async end() {
      stop.abort()
      await running
      return samples
    },
  }
}

function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024
}
