import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chatRequest } from './bodies.ts'
import { fillKeys, fillLogs, prepareDatabase } from './fill.ts'
import { cpuSeconds, load, median } from './measure.ts'
import type { Verdict } from './rows.ts'
import { startGateway, startUpstream } from './targets.ts'

export const growthRow = 'growth'

/** What there is much of. */
type Extent = { readonly keys: number; readonly logRows: number; readonly models: number }

const small: Extent = { keys: 1_000, logRows: 0, models: 10 }
/** So many keys are in use, however many there are. */
const keysInUse = 1_000
const connections = 64
const diskBytesMin = 12 * 1024 ** 3

/** One kind of load on one of the gateways. */
type Target = {
  readonly name: string
  readonly url: string
  readonly keysFile: string
  readonly bodiesFile: string
  pids(): readonly number[]
}

/** CPU a request, in microseconds, by what there is much of. */
export type GrowthMeasured = { readonly [name: string]: { readonly cpuMicros: number; readonly p50Ms: number } }

/**
 * What a chat request that is charged costs a gateway with little in its store, and others with much: all run at once and
 * take turns, so that whatever else the machine does falls on all alike.
 */
export async function measureGrowth(runs: number, seconds: number, logRows: number): Promise<GrowthMeasured> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-growth-'))
  const stop = new AbortController()
  try {
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < diskBytesMin) throw new Error(`growth needs 12 GiB of disk in ${folder}`)
    const site = { folder, stop, upstream: await startUpstream({ folder, stop }) }
    const few = await startTarget(site, 'small', small)
    const keys = await startTarget(site, 'keys', { ...small, keys: 1_000_000 })
    const targets: readonly Target[] = [
      few,
      { ...keys, name: 'keys' },
      { ...keys, name: 'keys, each in use', keysFile: keys.allKeysFile },
      await startTarget(site, 'log rows', { ...small, logRows }),
      await startTarget(site, 'models', { ...small, models: 1_000 }),
    ]
    return await takeTurns(targets, runs, seconds)
  } finally {
    stop.abort()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

export function judgeGrowth(measured: GrowthMeasured): readonly Verdict[] {
  const of = (name: string): number => measured[name]?.cpuMicros ?? Number.NaN
  return Object.keys(measured)
    .filter(name => name !== 'small')
    .map(name => ({ text: `CPU with many ${name}, over with few`, value: of(name) / of('small'), atMost: 1.1 }))
}

async function takeTurns(targets: readonly Target[], runs: number, seconds: number): Promise<GrowthMeasured> {
  const taken = new Map<string, { cpuMicros: number; p50Ms: number }[]>(targets.map(({ name }) => [name, []]))
  for (const target of targets) await measureOnce(target, 1)
  for (let run = 0; run < runs; run++) {
    // Whoever comes first is not always the same: the one before may leave work behind.
    const order = targets.map((_, at) => targets[(at + run) % targets.length] as Target)
    for (const target of order) taken.get(target.name)?.push(await measureOnce(target, seconds))
    process.stderr.write(`  run ${run + 1} of ${runs}\n`)
  }
  return Object.fromEntries(
    [...taken].map(([name, all]) => [
      name,
      { cpuMicros: median(all.map(one => one.cpuMicros)), p50Ms: median(all.map(one => one.p50Ms)) },
    ]),
  )
}

async function measureOnce(target: Target, seconds: number): Promise<{ cpuMicros: number; p50Ms: number }> {
  const { url, keysFile, bodiesFile } = target
  const pids = target.pids()
  const before = cpuSeconds(pids)
  const headers = { 'content-type': 'application/json' }
  const result = await load({
    url: `${url}/v1/chat/completions`,
    headers,
    bodyFile: bodiesFile,
    keysFile,
    connections,
    seconds,
  })
  if (result.errors > 0) process.stderr.write(`bench: ${target.name}: ${result.errors} of ${result.requests} failed\n`)
  return { cpuMicros: ((cpuSeconds(pids) - before) * 1e6) / result.requests, p50Ms: result.p50Ms }
}

type GrowthSite = Parameters<typeof startGateway>[0]

/** Fills a database of its own and starts a gateway on it. */
async function startTarget(
  site: GrowthSite,
  name: string,
  extent: Extent,
): Promise<Target & { readonly allKeysFile: string }> {
  const at = (what: string): string => join(site.folder, `${name.replaceAll(' ', '-')}-${what}`)
  const storage = `sqlite:${at('tollgate.db')}`
  await prepareDatabase(storage)
  const began = performance.now()
  const secrets = fillKeys(at('tollgate.db'), extent.keys)
  fillLogs(at('tollgate.db'), extent.logRows)
  process.stderr.write(`  filled: ${name}, ${Math.round((performance.now() - began) / 1000)} s\n`)
  const every = extent.keys / keysInUse
  await writeFile(at('keys'), secrets.filter((_, i) => i % every === 0).join('\n'))
  await writeFile(at('all-keys'), secrets.join('\n'))
  const models = Array.from({ length: extent.models }, (_, i) => `bench-chat-${i}`)
  await writeFile(at('bodies'), models.map(model => chatRequest(model, false)).join('\n'))
  await writeFile(at('gateway.yaml'), await describeModels(models))
  const { url, pids } = await startGateway(site, { config: at('gateway.yaml'), storage })
  return { name, url, pids, keysFile: at('keys'), allKeysFile: at('all-keys'), bodiesFile: at('bodies') }
}

/** The configuration of the other rows, with so many models in the place of its one for chat. */
async function describeModels(models: readonly string[]): Promise<string> {
  const text = await readFile(new URL('gateway.yaml', import.meta.url), 'utf8')
  const [line, rest] = /^ {2}bench-chat(: .*)$/m.exec(text) ?? []
  if (line === undefined) throw new Error('bench/gateway.yaml has no bench-chat')
  return text.replace(line, models.map(model => `  ${model}${rest}`).join('\n'))
}
