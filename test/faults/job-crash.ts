import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../harness/database.ts'
import { type ChildGateway, prepareSite, type Site } from '../harness/child.ts'
import { readImages } from '../harness/read-images.ts'
import { jobEdits, readJob, runJobLoad } from './job-load.ts'
import type { JobOrder } from './job-order.ts'
import { compareJobs, type JobSums, readAnswered, readLeft, readRunning } from './job-oracle.ts'
import { type JobVendor, moments, openJobVendor } from './job-vendor.ts'
import { newLife, whileLoaded } from './load.ts'
import type { Look } from './oracle.ts'
import { newSeed, seeded } from '../harness/seed.ts'

/** The result of a run of kills. */
export type JobCrashSummary = JobSums & {
  readonly seed: number
  readonly kills: number
  /** Number of kills while the gateway was starting or resuming its jobs. */
  readonly killsAtStart: number
  readonly seconds: number
}

/** The maximum time until nothing is in progress, in addition to the time limit of jobs. */
const restMs = 20_000

/**
 * Repeatedly kills a gateway while its vendor works on jobs, and compares the vendor's results and what callers
 * received with what was billed. Vendor and callers are in this process, and keep the only other record.
 */
export async function runJobCrashes(options: {
  readonly kills: number
  readonly seed: number
  readonly clients?: number
  /** No further kill after this many seconds. */
  readonly secondsMax?: number
}): Promise<JobCrashSummary> {
  const { seed, clients = 32, secondsMax = Number.POSITIVE_INFINITY } = options
  const began = performance.now()
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-jobs-'))
  const orders: JobOrder[] = []
  const violations: string[] = []
  const vendor = await openJobVendor(orders, random)
  let child: ChildGateway | undefined
  let kills = 0
  let killsAtStart = 0
  try {
    const site = await prepareSite(folder, { upstreams: { maker: vendor.url }, edit: jobEdits })
    const look = lookInto(site)
    const recovered = async (): Promise<void> => {
      const left = await readLeft(look)
      violations.push(...left.map(text => `after kill ${kills}: ${text}`))
    }
    for (; kills < options.kills && performance.now() - began < secondsMax * 1_000; kills++) {
      child = site.start()
      if (kills > 0 && random() < 0.2) {
        killsAtStart++
        await sleep(20 + random() * 1_000)
        await child.kill()
        continue
      }
      const life = newLife(kills, await child.ready)
      await recovered()
      const load = runJobLoad({ life, key: site.key, orders, random, clients })
      await whileLoaded(load, () => life.wholeAt > 0)
      await chooseMoment(vendor, random)
      life.killedAt = performance.now()
      await child.kill()
      await load.over
    }
    child = site.start()
    const url = await child.ready
    await recovered()
    const end = performance.now() + restMs
    while ((await readRunning(look)) > 0 && performance.now() < end) await sleep(50)
    for (const { id, order } of await readAnswered(look))
      for (const mark of readImages(await readJob(url, site.key, id))) orders[order]?.delivered.add(mark)
    await child.stop()
    child = undefined
    const storage = await openDatabase({ url: `sqlite:${site.database}`, role: 'tool' })
    violations.push(...(await storage.books.verify()).problems)
    await storage.close()
    const sums = await compareJobs(orders, vendor.works, look)
    const seconds = Math.round((performance.now() - began) / 1000)
    return { ...sums, violations: [...violations, ...sums.violations], seed, kills, killsAtStart, seconds }
  } finally {
    await child?.kill()
    await vendor.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** At any time, at a moment of the vendor's work, or shortly after one. */
export async function chooseMoment(vendor: JobVendor, random: () => number): Promise<void> {
  const chosen = Math.floor(random() * (moments.length + 2))
  const moment = moments[chosen]
  if (moment === undefined) await sleep(random() * 500)
  else await Promise.race([vendor.comes(moment, 1 + Math.floor(random() * 6)), sleep(1_500)])
  if (random() < 0.6) await sleep(random() * 12)
}

/** Reads a site's database next to its gateway. */
function lookInto({ database }: Site): Look {
  return sql => {
    const db = new DatabaseSync(database, { readOnly: true, timeout: 5_000 })
    try {
      return Promise.resolve(db.prepare(sql).all())
    } finally {
      db.close()
    }
  }
}

if (import.meta.main) {
  process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1))
  const seed = Number(process.env['SEED'] ?? newSeed())
  const kills = Number(process.env['KILLS'] ?? 200)
  process.stderr.write(`${kills} kills, SEED=${seed}\n`)
  const summary = await runJobCrashes({ kills, seed })
  process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`)
  if (summary.violations.length > 0) process.exitCode = 1
}
