import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openDatabase } from '../harness/database.ts'
import { type ChildGateway, prepareSite } from '../harness/child.ts'
import { startPostgres } from '../harness/postgres.ts'
import { readImages } from '../harness/read-images.ts'
import { chooseMoment } from './job-crash.ts'
import { jobEdits, readJob, runJobLoad } from './job-load.ts'
import { compareJobs, type JobSums, readAnswered, readRunning } from './job-oracle.ts'
import type { JobOrder } from './job-order.ts'
import { openJobVendor } from './job-vendor.ts'
import { type Life, type Load, newLife, whileLoaded } from './load.ts'
import { runScript } from './run-script.ts'
import { newSeed, seeded } from '../harness/seed.ts'

export type JobReplicasSummary = JobSums & {
  readonly seed: number
  readonly kills: number
  readonly freezes: number
  readonly seconds: number
}

type Slot = { child: ChildGateway; life: Life; load: Load }

/** The maximum time of leases and jobs together. */
const restMs = 45_000

/**
 * Two gateways on one PostgreSQL, of which one is killed, or frozen past its lease and resumed, while both have jobs:
 * the other takes them over.
 */
export async function runJobReplicas(
  t: Pick<Test, 'teardown'>,
  options: { readonly rounds: number; readonly seed: number; readonly clients?: number },
): Promise<JobReplicasSummary> {
  const { seed, clients = 12 } = options
  const began = performance.now()
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-job-replicas-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const orders: JobOrder[] = []
  const vendor = await openJobVendor(orders, random)
  t.teardown(() => vendor.close())
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const storage = await postgres.createDatabase()
  const site = await prepareSite(folder, { upstreams: { maker: vendor.url }, edit: jobEdits, storage })
  const client = await postgres.connect(storage)
  t.teardown(() => client.end())
  const look = async (sql: string) => (await client.query(sql)).rows as { readonly [column: string]: unknown }[]
  const slots: Slot[] = []
  t.teardown(() => Promise.all(slots.map(({ child }) => child.kill())))
  let born = 0
  async function begin(): Promise<Slot> {
    const child = site.start()
    const life = newLife(born++, await child.ready, true)
    return { child, life, load: runJobLoad({ life, key: site.key, orders, random, clients }) }
  }
  const lapse = ({ pid }: ChildGateway) => look(`UPDATE replica SET lease_until = 0 WHERE host LIKE '%:${pid}'`)
  const leftOf = async (pid: number): Promise<number> => {
    const [row] = await look(`SELECT count(*) AS n FROM replica WHERE host LIKE '%:${pid}' AND lease_until = 0`)
    return Number(row?.['n'])
  }
  slots.push(await begin(), await begin())
  let kills = 0
  let freezes = 0
  for (let round = 0; round < options.rounds; round++) {
    const at = round % slots.length
    const slot = slots[at] as Slot
    await whileLoaded(slot.load, () => slot.life.wholeAt > 0)
    await chooseMoment(vendor, random)
    if (random() < 0.25) {
      freezes++
      slot.life.isExcused = true
      slot.child.signal('SIGSTOP')
      await lapse(slot.child)
      while ((await leftOf(slot.child.pid)) > 0) await sleep(50)
      slot.child.signal('SIGCONT')
      continue
    }
    kills++
    slot.life.killedAt = performance.now()
    await slot.child.kill()
    await lapse(slot.child)
    await slot.load.over
    slots[at] = await begin()
  }
  for (const { life, load } of slots) {
    life.killedAt = performance.now()
    await load.over
  }
  const end = performance.now() + restMs
  while ((await readRunning(look)) > 0 && performance.now() < end) await sleep(100)
  const { url } = (slots[0] as Slot).life
  for (const { id, order } of await readAnswered(look))
    for (const mark of readImages(await readJob(url, site.key, id))) orders[order]?.delivered.add(mark)
  for (const { child } of slots) await child.stop()
  const books = await openDatabase({ url: storage, role: 'tool' })
  const { problems } = await books.books.verify()
  await books.close()
  const sums = await compareJobs(orders, vendor.works, look)
  const seconds = Math.round((performance.now() - began) / 1000)
  return { ...sums, violations: [...problems, ...sums.violations], seed, kills, freezes, seconds }
}

// `ROUNDS=50 SEED=… node test/faults/job-replicas.ts`: one JSON object to standard output; a broken promise is exit 1.
if (import.meta.main) {
  const seed = Number(process.env['SEED'] ?? newSeed())
  const rounds = Number(process.env['ROUNDS'] ?? 50)
  process.stderr.write(`${rounds} rounds, SEED=${seed}\n`)
  await runScript(t => runJobReplicas(t, { rounds, seed }))
}
