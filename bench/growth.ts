import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Charged, type Cost, type Extent, startCharged, takeTurns } from './charged.ts'
import { fillKeys, fillKeysOfPostgres, fillLogs, prepareDatabase } from './fill.ts'
import type { Verdict } from './rows.ts'
import { startServer } from './postgres.ts'
import { type Site, startUpstream } from './targets.ts'

const few: Extent = { keys: 1_000, logRows: 10_000, models: 10 }
/** Number of keys in use, however many exist. */
const keysInUse = 1_000
const warmSeconds = 5
/** A key with its index, and a row of the log with its indexes. */
const bytesOf = { key: 1_000, logRow: 1_000 }

/** The cost of a request, by the resource whose quantity grows. */
export type GrowthMeasured = { readonly [name: string]: Cost }

export type GrowthAsked = {
  readonly runs: number
  readonly seconds: number
  readonly many: Extent
}

/** Creates a database, fills it and returns its address, with the secrets of its keys. */
type Fill = (file: string, extent: Extent) => Promise<{ readonly storage: string; readonly secrets: readonly string[] }>

/**
 * The cost of a charged chat request at a gateway with small stores, and at others with large ones: all run at once and
 * take turns, so that other work of the machine affects all alike.
 */
export function measureGrowth(asked: GrowthAsked): Promise<GrowthMeasured> {
  const fill: Fill = async (file, { keys, logRows }) => {
    const storage = `sqlite:${file}`
    await prepareDatabase(storage)
    const secrets = fillKeys(file, keys)
    await fillLogs(storage, logRows)
    return { storage, secrets }
  }
  return onSite(asked.many, site => compare({ ...asked, site, fill }))
}

/** The same with a PostgreSQL on this machine. */
export async function measureGrowthOnPostgres(asked: GrowthAsked): Promise<GrowthMeasured> {
  const { postgres, pids } = await startServer()
  try {
    const fill: Fill = async (_file, { keys, logRows }) => {
      const storage = await postgres.createDatabase()
      await prepareDatabase(storage)
      const filling = await postgres.connect(storage)
      const secrets = await fillKeysOfPostgres(filling, keys)
      await fillLogs(storage, logRows)
      await filling.query('VACUUM ANALYZE')
      await filling.end()
      return { storage, secrets }
    }
    return await onSite(asked.many, site => compare({ ...asked, site, fill, databasePids: pids }))
  } finally {
    await postgres.close()
  }
}

export function judgeGrowth(measured: GrowthMeasured): readonly Verdict[] {
  const base = measured['few']
  return Object.entries(measured)
    .filter(([name]) => name !== 'few')
    .map(([name, { cpuMicros }]) => ({
      text: `CPU with ${name === 'a second like it' ? name : `many ${name}`}, over with few`,
      value: cpuMicros / (base?.cpuMicros ?? Number.NaN),
      atMost: 1.1,
    }))
}

async function onSite<T>(many: Extent, work: (site: Site) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-growth-'))
  const stop = new AbortController()
  try {
    const { bavail, bsize } = await statfs(folder)
    const needed = 2 * 1024 ** 3 + many.keys * bytesOf.key + many.logRows * bytesOf.logRow
    if (bavail * bsize < needed)
      throw new Error(`growth needs ${Math.ceil(needed / 1024 ** 3)} GiB of disk in ${folder}`)
    return await work({ folder, stop, upstream: await startUpstream({ folder, stop }) })
  } finally {
    stop.abort()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

type Comparison = GrowthAsked & {
  readonly site: Site
  readonly fill: Fill
  databasePids?(this: void): readonly number[]
}

/** A second gateway with small stores shows the noise of a ratio. */
async function compare({ site, fill, many, runs, seconds, databasePids }: Comparison): Promise<GrowthMeasured> {
  const start = async (name: string, extent: Extent): Promise<readonly [inUse: Charged, all: Charged]> => {
    const began = performance.now()
    const file = join(site.folder, `${name.replaceAll(' ', '-')}.db`)
    const { storage, secrets } = await fill(file, extent)
    process.stderr.write(`  filled: ${name}, ${Math.round((performance.now() - began) / 1000)} s\n`)
    const every = extent.keys / keysInUse
    const inUse = secrets.filter((_, i) => i % every === 0)
    const { models } = extent
    const target = await startCharged({ site, name, storage, secrets: inUse, models, allSecrets: secrets })
    return [target, { ...target, name: `${name}, each in use`, keysFile: target.allKeysFile }]
  }
  const [base] = await start('few', few)
  const [second] = await start('a second like it', few)
  const [keys, eachKey] = await start('keys', { ...few, keys: many.keys })
  const [models] = await start('models', { ...few, models: many.models })
  const [logRows] = await start('log rows', { ...few, logRows: many.logRows })
  const targets = [base, second, keys, eachKey, models, logRows]
  return takeTurns(targets, { runs, seconds, warmSeconds }, databasePids)
}
