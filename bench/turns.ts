import { cpuSeconds, load, loadCounted, median, peakMegabytes, readLoopDelay, resetPeak } from './measure.ts'
import type { Measured, Row } from './rows.ts'
import type { Running } from './targets.ts'

/** The figures of a target that could not be started. */
export const nothing: Measured = {
  requestsPerSecond: Number.NaN,
  cpuMicros: Number.NaN,
  p50Ms: Number.NaN,
  p99Ms: Number.NaN,
  peakMegabytes: Number.NaN,
  loopP99Ms: Number.NaN,
}

/** One turn of a target: its figures, how many requests it answered, and how many failed. */
export async function measureOnce(
  row: Row,
  target: Running,
  bodyFile: string,
  forSeconds: number,
): Promise<Measured & { readonly requests: number; readonly errors: number }> {
  const pids = target.pids()
  resetPeak(pids)
  await loopDelay(target)
  const before = cpuSeconds(pids)
  const headers = { 'content-type': row.contentType, ...target.headers }
  const url = target.url + (row.paths?.[target.name] ?? row.path)
  const what = { url, headers, bodyFile, connections: row.connections, seconds: forSeconds }
  const result = await (row.count ? loadCounted(what, Buffer.from(row.body), row.count) : load(what))
  const used = cpuSeconds(pids) - before
  const loopP99Ms = await loopDelay(target)
  const refused = row.isRefused === true && target.name !== 'bare-undici' ? result.requests : 0
  // The first request of a minute is within the limit.
  if (Math.abs(result.errors - refused) > 2)
    process.stderr.write(
      `bench: ${target.name}: ${result.errors} of ${result.requests} failed, ${refused} were to be refused\n`,
    )
  return {
    requests: result.requests,
    errors: result.errors,
    requestsPerSecond: result.requests / result.seconds,
    cpuMicros: (used * 1e6) / result.requests,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    peakMegabytes: peakMegabytes(pids),
    loopP99Ms,
  }
}

/** In milliseconds, if available; each request begins a new period. */
async function loopDelay({ ops }: Running): Promise<number> {
  return ops === undefined ? Number.NaN : readLoopDelay(ops)
}

export function medians(all: readonly Measured[]): Measured {
  const names = Object.keys(nothing) as (keyof Measured)[]
  return Object.fromEntries(names.map(name => [name, median(all.map(one => one[name]))])) as Measured
}
