import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chatRequest } from './bodies.ts'
import { cpuSeconds, load, mainThreadSeconds, median } from './measure.ts'
import { type Site, startGateway } from './targets.ts'

// Charged chat requests of random keys and models, at gateways whose stores were filled before.

/** The parts of a gateway that are large. */
export type Extent = { readonly keys: number; readonly logRows: number; readonly models: number }

/** One kind of load on one of the gateways. */
export type Charged = {
  readonly name: string
  readonly url: string
  readonly keysFile: string
  readonly allKeysFile: string
  readonly bodiesFile: string
  readonly connections: number
  pids(): readonly number[]
}

/** Medians of one kind of load. */
export type Cost = {
  readonly requestsPerSecond: number
  /** CPU of the gateway per request. */
  readonly cpuMicros: number
  /** The part of it used by event loops; the rest is writers' threads and V8's helpers. */
  readonly mainMicros: number
  /** CPU of the database's own processes, if it has some. */
  readonly databaseCpuMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** How long pending writes took after the last answer: long if the storage falls behind. */
  readonly drainMs: number
}

/** Memory of one serving process. */
const connectionsEach = 64
/** Pending writes are waited for, so that their CPU is counted, but not endlessly. */
const drainMs = 30_000
/** A gateway that uses no more than two ticks in this time is idle. */
const idleMs = 200
const idleSecondsMax = 0.02

/** Sends requests for this time. `databasePids` are the database's own processes, if it has some. */
export async function loadCharged(
  target: Charged,
  seconds: number,
  databasePids: () => readonly number[] = () => [],
): Promise<Cost & { readonly requests: number }> {
  const { url, keysFile, bodiesFile, connections } = target
  const [own, database] = [target.pids(), databasePids()]
  const [ownBefore, mainBefore, databaseBefore] = [cpuSeconds(own), mainThreadSeconds(own), cpuSeconds(database)]
  const result = await load({
    url: `${url}/v1/chat/completions`,
    headers: { 'content-type': 'application/json' },
    bodyFile: bodiesFile,
    keysFile,
    connections,
    seconds,
  })
  if (result.errors > 0) process.stderr.write(`bench: ${target.name}: ${result.errors} of ${result.requests} failed\n`)
  const drainedMs = await drain(own)
  return {
    requests: result.requests,
    requestsPerSecond: result.requests / result.seconds,
    cpuMicros: ((cpuSeconds(own) - ownBefore) * 1e6) / result.requests,
    mainMicros: ((mainThreadSeconds(own) - mainBefore) * 1e6) / result.requests,
    databaseCpuMicros: ((cpuSeconds(database) - databaseBefore) * 1e6) / result.requests,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    drainMs: drainedMs,
  }
}

/**
 * Waits until a gateway has written pending data, which shows in its being idle; returns how long that took, in
 * milliseconds. Reading its metrics would cost it more the more models it has.
 */
async function drain(pids: readonly number[]): Promise<number> {
  const began = performance.now()
  for (let before = cpuSeconds(pids); performance.now() - began < drainMs; ) {
    await sleep(idleMs)
    const now = cpuSeconds(pids)
    if (now - before <= idleSecondsMax) return Math.max(0, performance.now() - began - idleMs)
    before = now
  }
  return drainMs
}

/** Runs them in random order: in one order each would always follow the same one, which may leave work behind. */
export async function takeTurns(
  targets: readonly Charged[],
  { runs, seconds, warmSeconds }: { readonly runs: number; readonly seconds: number; readonly warmSeconds: number },
  databasePids?: () => readonly number[],
): Promise<{ readonly [name: string]: Cost }> {
  const taken = new Map<string, Cost[]>(targets.map(({ name }) => [name, []]))
  for (const target of targets) await loadCharged(target, warmSeconds, databasePids)
  for (let run = 0; run < runs; run++) {
    for (const target of shuffle(targets))
      taken.get(target.name)?.push(await loadCharged(target, seconds, databasePids))
    process.stderr.write(`  run ${run + 1} of ${runs}\n`)
  }
  return Object.fromEntries([...taken].map(([name, costs]) => [name, medians(costs)]))
}

function shuffle<T>(all: readonly T[]): readonly T[] {
  return all
    .map(one => [Math.random(), one] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, one]) => one)
}

function medians(costs: readonly Cost[]): Cost {
  return {
    requestsPerSecond: median(costs.map(cost => cost.requestsPerSecond)),
    cpuMicros: median(costs.map(cost => cost.cpuMicros)),
    mainMicros: median(costs.map(cost => cost.mainMicros)),
    databaseCpuMicros: median(costs.map(cost => cost.databaseCpuMicros)),
    p50Ms: median(costs.map(cost => cost.p50Ms)),
    p99Ms: median(costs.map(cost => cost.p99Ms)),
    drainMs: median(costs.map(cost => cost.drainMs)),
  }
}

export type ChargedParts = {
  readonly site: Site
  readonly name: string
  /** A filled storage, and the secrets of its keys in use. */
  readonly storage: string
  readonly secrets: readonly string[]
  /** The secrets of all its keys, if more exist. */
  readonly allSecrets?: readonly string[]
  readonly models?: number
  /** The place of the limits' counters; in memory by default. */
  readonly counters?: string
  /** Serving processes; one by default. */
  readonly workers?: number
}

/** Starts a gateway on a storage, with the files that requests to it are made of. */
export async function startCharged(parts: ChargedParts): Promise<Charged> {
  const { site, name, storage, secrets, allSecrets = secrets, models: count = 10, workers = 1 } = parts
  const at = (what: string): string => join(site.folder, `${name.replaceAll(/\W+/g, '-')}-${what}`)
  const models = Array.from({ length: count }, (_, i) => `bench-chat-${i}`)
  await writeFile(at('keys'), secrets.join('\n'))
  await writeFile(at('all-keys'), allSecrets.join('\n'))
  await writeFile(at('bodies'), models.map(model => chatRequest(model, false)).join('\n'))
  const text = await readFile(new URL('gateway.yaml', import.meta.url), 'utf8')
  await writeFile(at('gateway.yaml'), describe(text, { ...parts, models }))
  const { url, pids } = await startGateway(site, { config: at('gateway.yaml'), storage })
  const files = { keysFile: at('keys'), allKeysFile: at('all-keys'), bodiesFile: at('bodies') }
  return { name, url, pids, ...files, connections: connectionsEach * workers }
}

type Described = { readonly models: readonly string[]; readonly counters?: string; readonly workers?: number }

/**
 * The configuration of the other rows, with this many models instead of its one for chat. @throws Error if it has
 * changed
 */
export function describe(text: string, { models, counters = 'memory:', workers = 1 }: Described): string {
  const changes: readonly (readonly [RegExp, (...found: string[]) => string])[] = [
    [/^ {2}bench-chat(: .*)$/m, (_, rest) => models.map(model => `  ${model}${rest}`).join('\n')],
    [/^counters: .*$/m, () => `counters: "${counters}"`],
    [/^server: \{ /m, line => `${line}workers: ${workers}, `],
  ]
  return changes.reduce((so, [line, change]) => {
    if (!line.test(so)) throw new Error(`bench/gateway.yaml has nothing like ${line}`)
    return so.replace(line, change)
  }, text)
}
