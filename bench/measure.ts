import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'

/** Clock ticks a second of /proc: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100

/** A process and all of its descendants. */
export function family(pid: number): readonly number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = Number(statFields(Number(name))?.[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const all = [pid]
  for (const one of all) all.push(...(children.get(one) ?? []))
  return all
}

/** The process that started another one. */
export function parentOf(pid: number): number {
  return Number(statFields(pid)?.[1])
}

/** User and system time that the processes have used, in seconds. */
export function cpuSeconds(pids: readonly number[]): number {
  return sumTicks(pids, [11, 12]) / ticksPerSecond
}

/** The same for their main threads alone: the event loops. */
export function mainThreadSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ticksOf(readStat(`${pid}/task/${pid}`), [11, 12]), 0) / ticksPerSecond
}

/** The same, including children that have exited. */
function cpuSecondsOfAll(pids: readonly number[]): number {
  return sumTicks(pids, [11, 12, 13, 14]) / ticksPerSecond
}

function sumTicks(pids: readonly number[], places: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ticksOf(statFields(pid), places), 0)
}

function ticksOf(fields: readonly string[] | undefined, places: readonly number[]): number {
  return places.reduce((sum, place) => sum + Number(fields?.[place] ?? 0), 0)
}

/** Cores that other programs used since `start`: the machine's work without that of the bench's own processes. */
export function watchForeignCpu(): () => number {
  const began = { at: performance.now(), busy: busySeconds(), own: cpuSecondsOfAll(family(process.pid)) }
  return () => {
    const seconds = (performance.now() - began.at) / 1000
    const own = cpuSecondsOfAll(family(process.pid)) - began.own
    return Math.max(0, (busySeconds() - began.busy - own) / seconds)
  }
}

/** CPU time of all cores since boot, in seconds: all but idle and waiting for disks. */
function busySeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(/\s+/).slice(1).map(Number)
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond
}

/** Resets the largest resident set. */
export function resetPeak(pids: readonly number[]): void {
  for (const pid of pids) writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/** Largest resident set since the reset, in MiB, of all processes together. */
export function peakMegabytes(pids: readonly number[]): number {
  const kilobytes = pids.map(pid =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0),
  )
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1024
}

/**
 * The 99th percentile of a process's event-loop delay since the last call, in milliseconds; each call begins a new
 * period. `ops` has metrics of this name, a gateway's or those of `peers/loop-probe.ts`.
 */
export async function readLoopDelay(ops: string): Promise<number> {
  const text = await (await fetch(`${ops}/metrics`)).text()
  const match = /event_loop_delay_seconds\{quantile="0\.99"\} (\S+)/.exec(text)
  return Number(match?.[1]) * 1000
}

/** The fields of /proc/PID/stat after the command's name, which may hold blanks; undefined when the process is gone. */
function statFields(pid: number): readonly string[] | undefined {
  return readStat(String(pid))
}

function readStat(place: string): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${place}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

export type Load = {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  /** File that holds the body. */
  readonly bodyFile: string
  /** File of keys, one per line: each request takes a random one, and a random line of `bodyFile`. */
  readonly keysFile?: string
  readonly connections: number
  readonly seconds: number
}

export type LoadResult = {
  readonly requests: number
  readonly seconds: number
  readonly errors: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const wrkScript = new URL('load.lua', import.meta.url).pathname

/** Runs wrk with one thread and reads what its script prints. */
export async function load(what: Load): Promise<LoadResult> {
  const headers = Object.entries(what.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const connections = String(what.connections)
  const args = ['-t1', '-c', connections, '-d', `${what.seconds}s`, '--timeout', '60s', '-s', wrkScript]
  const { stdout } = await promisify(execFile)('wrk', [...args, ...headers, what.url], {
    env: { ...process.env, BODY_FILE: what.bodyFile, ...(what.keysFile && { KEYS_FILE: what.keysFile }) },
  })
  const line = stdout.split('\n').find(text => text.startsWith('{'))
  if (!line) throw new Error(`wrk said nothing that could be read:\n${stdout}`)
  return JSON.parse(line) as LoadResult
}

/**
 * Sends exactly `count` requests and waits for the last byte of each: for bodies so large that requests cut off at the
 * end of a timed run would spoil the count.
 */
export async function loadCounted(what: Load, body: Buffer, count: number): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: what.connections })
  const began = performance.now()
  const took: number[] = []
  let left = count
  let errors = 0
  const sendInTurn = async () => {
    while (left-- > 0) {
      const sent = performance.now()
      const status = await post(what, body, agent)
      took.push(performance.now() - sent)
      if (status !== 200) errors++
    }
  }
  await Promise.all(Array.from({ length: what.connections }, sendInTurn))
  agent.destroy()
  const sorted = took.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
  return { requests: count, seconds: (performance.now() - began) / 1000, errors, p50Ms: at(0.5), p99Ms: at(0.99) }
}

/**
 * Sends requests at a rate, whether or not earlier ones were answered, and waits for all. `headersOf`: the headers of the
 * nth request besides its length. @returns how many, and the statuses of those that failed (0: a broken connection)
 */
export async function loadPaced(
  url: string,
  { rate, seconds, body, headersOf }: Pace,
): Promise<{ readonly requests: number; readonly failed: readonly number[] }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const sent: Promise<number>[] = []
  const began = performance.now()
  while (sent.length < rate * seconds) {
    const due = Math.min(rate * seconds, ((performance.now() - began) / 1000) * rate)
    while (sent.length < due) sent.push(post({ url, headers: headersOf(sent.length) }, body, agent))
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  const statuses = await Promise.all(sent)
  agent.destroy()
  return { requests: statuses.length, failed: statuses.filter(status => status !== 200) }
}

export type Pace = {
  readonly rate: number
  readonly seconds: number
  readonly body: Buffer
  headersOf(this: void, n: number): { readonly [name: string]: string }
}

/** One POST, read to its end; its status, or 0 when it broke. */
function post(what: Pick<Load, 'url' | 'headers'>, body: Buffer, agent: Agent): Promise<number> {
  return new Promise(resolve => {
    const headers = { ...what.headers, 'content-length': body.length }
    const req = request(what.url, { method: 'POST', agent, headers }, res => {
      res.on('end', () => resolve(res.statusCode ?? 0))
      res.on('error', () => resolve(0))
      res.resume()
    })
    req.on('error', () => resolve(0))
    req.end(body)
  })
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  if (sorted.length === 0) return Number.NaN
  return sorted.length % 2 === 1 ? Number(sorted[middle]) : (Number(sorted[middle - 1]) + Number(sorted[middle])) / 2
}
