import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../test/harness/postgres.ts'
import { chatRequest } from './bodies.ts'
import { fillKeys, fillKeysOfPostgres, fillLogs, fillLogsOfPostgres, prepareDatabase } from './fill.ts'
import { cpuSeconds, family, load, median, parentOf } from './measure.ts'
import type { Verdict } from './rows.ts'
import { type Site, startGateway, startUpstream } from './targets.ts'

export const growthRow = 'growth'
export const growthPostgresRow = 'growth-postgres'

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
  readonly allKeysFile: string
  readonly bodiesFile: string
  pids(): readonly number[]
}

type Cost = {
  /** Of the gateway, for each request. */
  readonly cpuMicros: number
  /** Of the database's own processes, where it has some. */
  readonly databaseCpuMicros: number
  readonly p50Ms: number
}

/** What a request costs, by what there is much of. */
export type GrowthMeasured = { readonly [name: string]: Cost }

/** Makes a database, fills it and says where it is; the secrets of its keys. */
type Fill = (file: string, extent: Extent) => Promise<{ readonly storage: string; readonly secrets: readonly string[] }>

/**
 * What a chat request that is charged costs a gateway with little in its store, and others with much: all run at once and
 * take turns, so that whatever else the machine does falls on all alike.
 */
export function measureGrowth(runs: number, seconds: number, logRows: number): Promise<GrowthMeasured> {
  const fill: Fill = async (file, { keys, logRows }) => {
    const storage = `sqlite:${file}`
    await prepareDatabase(storage)
    const secrets = fillKeys(file, keys)
    fillLogs(file, logRows)
    return { storage, secrets }
  }
  const many = { keys: 1_000_000, logRows, models: 1_000 }
  return onSite(site => compare({ site, fill, many, runs, seconds, databasePids: () => [] }))
}

/** The same over a PostgreSQL on this machine, with a tenth of the rows. */
export async function measureGrowthOnPostgres(runs: number, seconds: number): Promise<GrowthMeasured> {
  const postgres = await startPostgres(['max_connections=60', 'shared_buffers=512MB'])
  try {
    const client = await postgres.connect(await postgres.createDatabase())
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    await client.end()
    const server = parentOf(rows[0]?.pid ?? 0)
    const fill: Fill = async (_file, { keys, logRows }) => {
      const storage = await postgres.createDatabase()
      await prepareDatabase(storage)
      const filling = await postgres.connect(storage)
      const secrets = await fillKeysOfPostgres(filling, keys)
      await fillLogsOfPostgres(filling, logRows)
      await filling.end()
      return { storage, secrets }
    }
    const many = { keys: 100_000, logRows: 1_000_000, models: 1_000 }
    return await onSite(site => compare({ site, fill, many, runs, seconds, databasePids: () => family(server) }))
  } finally {
    await postgres.close()
  }
}

export function judgeGrowth(measured: GrowthMeasured): readonly Verdict[] {
  const few = measured['few']
  return Object.entries(measured)
    .filter(([name]) => name !== 'few')
    .map(([name, { cpuMicros }]) => ({
      text: `CPU with many ${name}, over with few`,
      value: cpuMicros / (few?.cpuMicros ?? Number.NaN),
      atMost: 1.1,
    }))
}

async function onSite<T>(work: (site: Site) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-growth-'))
  const stop = new AbortController()
  try {
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < diskBytesMin) throw new Error(`growth needs 12 GiB of disk in ${folder}`)
    return await work({ folder, stop, upstream: await startUpstream({ folder, stop }) })
  } finally {
    stop.abort()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

type Comparison = {
  readonly site: Site
  readonly fill: Fill
  readonly many: Extent
  readonly runs: number
  readonly seconds: number
  databasePids(this: void): readonly number[]
}

async function compare({ site, fill, many, runs, seconds, databasePids }: Comparison): Promise<GrowthMeasured> {
  const start = (name: string, extent: Extent) => startTarget({ site, fill, name, extent })
  const few = await start('few', small)
  const keys = await start('keys', { ...small, keys: many.keys })
  const targets: readonly Target[] = [
    few,
    keys,
    { ...keys, name: 'keys, each in use', keysFile: keys.allKeysFile },
    await start('models', { ...small, models: many.models }),
    await start('log rows', { ...small, logRows: many.logRows }),
  ]
  const taken = new Map<string, Cost[]>(targets.map(({ name }) => [name, []]))
  for (const target of targets) await measureOnce(target, databasePids, 1)
  for (let run = 0; run < runs; run++) {
    for (const target of shuffle(targets))
      taken.get(target.name)?.push(await measureOnce(target, databasePids, seconds))
    process.stderr.write(`  run ${run + 1} of ${runs}\n`)
  }
  return Object.fromEntries([...taken].map(([name, costs]) => [name, medians(costs)]))
}

/** By chance: in turns each would always follow the same one, which may leave work behind. */
function shuffle<T>(all: readonly T[]): readonly T[] {
  return all
    .map(one => [Math.random(), one] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, one]) => one)
}

function medians(costs: readonly Cost[]): Cost {
  return {
    cpuMicros: median(costs.map(cost => cost.cpuMicros)),
    databaseCpuMicros: median(costs.map(cost => cost.databaseCpuMicros)),
    p50Ms: median(costs.map(cost => cost.p50Ms)),
  }
}

async function measureOnce(target: Target, databasePids: () => readonly number[], seconds: number): Promise<Cost> {
  const { url, keysFile, bodiesFile } = target
  const [own, database] = [target.pids(), databasePids()]
  const [ownBefore, databaseBefore] = [cpuSeconds(own), cpuSeconds(database)]
  const result = await load({
    url: `${url}/v1/chat/completions`,
    headers: { 'content-type': 'application/json' },
    bodyFile: bodiesFile,
    keysFile,
    connections,
    seconds,
  })
  if (result.errors > 0) process.stderr.write(`bench: ${target.name}: ${result.errors} of ${result.requests} failed\n`)
  return {
    cpuMicros: ((cpuSeconds(own) - ownBefore) * 1e6) / result.requests,
    databaseCpuMicros: ((cpuSeconds(database) - databaseBefore) * 1e6) / result.requests,
    p50Ms: result.p50Ms,
  }
}

type TargetParts = { readonly site: Site; readonly fill: Fill; readonly name: string; readonly extent: Extent }

/** Fills a database of its own and starts a gateway on it. */
async function startTarget({ site, fill, name, extent }: TargetParts): Promise<Target> {
  const at = (what: string): string => join(site.folder, `${name.replaceAll(' ', '-')}-${what}`)
  const began = performance.now()
  const { storage, secrets } = await fill(at('tollgate.db'), extent)
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
