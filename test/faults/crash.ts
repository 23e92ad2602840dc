import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../harness/database.ts'
import { type ChildGateway, prepareSite, type Site } from '../harness/child.ts'
import { newLife, type Order, runLoad, whileLoaded } from './load.ts'
import { compare, type Look, readBooks, readOpen, type Sums } from './oracle.ts'
import { openStudio } from './studio.ts'
import { newSeed, seeded } from '../harness/seed.ts'

/** The result of a run of kills. */
export type CrashSummary = Sums & {
  readonly seed: number
  readonly kills: number
  /** Number of kills while the gateway was starting or recovering. */
  readonly killsAtStart: number
  readonly seconds: number
}

/**
 * Repeatedly kills a gateway under load, and compares what callers received with what was billed. The upstream and the
 * callers are in this process and keep the only other record; every image has unique dimensions, and every request has
 * a number that its charge stores as the requested quality.
 */
export async function runCrashes(options: {
  readonly kills: number
  readonly seed: number
  readonly clients?: number
  /** No further kill after this many seconds. */
  readonly secondsMax?: number
}): Promise<CrashSummary> {
  const { seed, clients = 48, secondsMax = Number.POSITIVE_INFINITY } = options
  const began = performance.now()
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-crash-'))
  const orders: Order[] = []
  const violations: string[] = []
  const studio = await openStudio(orders, random)
  let child: ChildGateway | undefined
  let kills = 0
  let killsAtStart = 0
  try {
    const site = await prepareSite(folder, {
      upstreams: { alpha: studio.url, beta: studio.url },
      edit: [{ 'groups/default': { rpm: 100000000 } }, [', limits: { rpm: 300 } }', ' }']],
    })
    const recovered = async (): Promise<void> => {
      const open = await look(site, readOpen)
      violations.push(...open.map(text => `after kill ${kills}: ${text}`))
    }
    for (let kill = 0; kill < options.kills; kill++) {
      if (performance.now() - began > secondsMax * 1000) break
      child = site.start()
      if (kill > 0 && random() < 0.15) {
        kills++
        killsAtStart++
        await sleep(20 + random() * 400)
        await child.kill()
        continue
      }
      const life = newLife(kill, await child.ready)
      await recovered()
      kills++
      const target = () => Promise.resolve(life.killedAt === undefined ? life : undefined)
      const load = runLoad({ target, key: site.key, orders, random, clients })
      await whileLoaded(load, () => life.wholeAt > 0)
      await sleep(random() * 400)
      life.killedAt = performance.now()
      await child.kill()
      await load.over
    }
    child = site.start()
    await child.ready
    await recovered()
    await child.stop()
    child = undefined
    const storage = await openDatabase({ url: `sqlite:${site.database}`, role: 'tool' })
    violations.push(...(await storage.books.verify()).problems)
    await storage.close()
    const sums = compare(orders, await look(site, readBooks))
    return {
      ...sums,
      violations: [...violations, ...sums.violations],
      seed,
      kills,
      killsAtStart,
      seconds: Math.round((performance.now() - began) / 1000),
    }
  } finally {
    await child?.kill()
    await studio.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Reads a site's database next to its gateway. */
async function look<T>({ database }: Site, read: (look: Look) => Promise<T>): Promise<T> {
  const db = new DatabaseSync(database, { readOnly: true, timeout: 5_000 })
  try {
    return await read(sql => Promise.resolve(db.prepare(sql).all()))
  } finally {
    db.close()
  }
}

if (import.meta.main) {
  process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1))
  const seed = Number(process.env['SEED'] ?? newSeed())
  const kills = Number(process.env['KILLS'] ?? 200)
  process.stderr.write(`${kills} kills, SEED=${seed}\n`)
  const summary = await runCrashes({ kills, seed })
  process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`)
  if (summary.violations.length > 0) process.exitCode = 1
}
