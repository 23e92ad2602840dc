import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openDatabase } from '../harness/database.ts'
import { type ChildGateway, prepareSite } from '../harness/child.ts'
import { type Postgres, startPostgres } from '../harness/postgres.ts'
import { type Life, type Load, newLife, type Order, runLoad, whileLoaded } from './load.ts'
import { compare, type Look, readBooks, type Sums } from './oracle.ts'
import { openStudio } from './studio.ts'
import { seeded } from '../harness/seed.ts'

export const replicas = 3

export type FleetFigures = Sums & {
  readonly seed: number
  /** Number of answers with 503, by code. */
  readonly refused: { readonly [code: string]: number }
  /** Number of requests that a running gateway cut. */
  readonly cut: number
  readonly seconds: number
}

type Slot = { readonly child: ChildGateway; readonly life: Promise<Life> }

/** Three gateways on one PostgreSQL under load, each a process of its own, and the record of what callers received. */
export type Fleet = {
  readonly postgres: Postgres
  readonly random: () => number
  readonly look: Look
  /** The current gateways. */
  lives(): Promise<readonly Life[]>
  /** Kills one, and starts a replacement without waiting for it. */
  kill(at: number): Promise<void>
  signal(at: number, signal: NodeJS.Signals): void
  hears(at: number, wanted: RegExp): Promise<unknown>
  /** Waits while the load continues. */
  until(holds: () => boolean | Promise<boolean>): Promise<void>
  /** Waits until each gateway has sent a complete answer since then. */
  answers(since: number): Promise<void>
  /** Open charges of these gateways. */
  openOf(of: (life: Life) => boolean): Promise<readonly Order[]>
  /** Expires the leases of the gateways with these charges, when a test cannot wait. */
  lapse(orders: readonly Order[]): Promise<void>
  /** Ends the load and the gateways, and compares. */
  finish(): Promise<FleetFigures>
}

export async function openFleet(
  t: Pick<Test, 'teardown'>,
  { seed, clients = 24 }: { readonly seed: number; readonly clients?: number },
): Promise<Fleet> {
  const began = performance.now()
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-fleet-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const orders: Order[] = []
  const studio = await openStudio(orders, random)
  t.teardown(() => studio.close())
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const storage = await postgres.createDatabase()
  const site = await prepareSite(folder, {
    upstreams: { alpha: studio.url, beta: studio.url },
    storage,
    edit: [{ 'groups/default': {} }, [', limits: { rpm: 300 } }', ' }']],
  })
  const look: Look = async sql => {
    const client = await postgres.connect(storage)
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  let born = 0
  const slots: Slot[] = []
  t.teardown(() => Promise.all(slots.map(({ child }) => child.kill())))
  const begin = (at: number): void => {
    const child = site.start()
    const life = child.ready.then(url => newLife(born++, url, true))
    life.catch(() => undefined)
    slots[at] = { child, life }
  }
  for (let at = 0; at < replicas; at++) begin(at)
  const lives = (): Promise<readonly Life[]> => Promise.all(slots.map(({ life }) => life))
  await lives()
  let isOver = false
  // A caller whose gateway was killed is sent to its replacement.
  const target = async (client: number): Promise<Life | undefined> => {
    const life = await slots[client % replicas]?.life
    if (life?.killedAt !== undefined) await sleep(5)
    return isOver ? undefined : life
  }
  const load: Load = runLoad({ target, key: site.key, orders, random, clients })
  const until: Fleet['until'] = holds => whileLoaded(load, holds)

  return {
    postgres,
    random,
    look,
    lives,
    async kill(at) {
      const slot = slots[at]
      if (!slot) throw new Error(`there is no gateway ${at}`)
      const life = await slot.life
      life.killedAt = performance.now()
      await slot.child.kill()
      begin(at)
    },
    signal: (at, signal) => slots[at]?.child.signal(signal),
    hears: async (at, wanted) => slots[at]?.child.hears(wanted),
    until,
    answers: since => until(async () => (await lives()).every(life => life.wholeAt > since)),
    async openOf(of) {
      const rows = await look(`SELECT quality FROM charge WHERE state = 'reserved'`)
      return rows.flatMap(row => {
        const order = orders[Number(row['quality'])]
        return order && of(order.life) ? [order] : []
      })
    },
    async lapse(held) {
      const numbers = held.map(({ number }) => `'${number}'`).join(', ')
      if (numbers === '') return
      await look(
        `UPDATE replica SET lease_until = 0 WHERE owner IN (SELECT owner FROM charge WHERE quality IN (${numbers}))`,
      )
    },
    async finish() {
      isOver = true
      await load.over
      const violations: string[] = []
      for (const { child } of slots) {
        await child.stop()
        const exit = await child.gone
        if (exit !== 0) violations.push(`a gateway that was told to stop ended with ${exit}`)
      }
      const books = await openDatabase({ url: storage, role: 'tool' })
      violations.push(...(await books.books.verify()).problems)
      await books.close()
      const sums = compare(orders, await readBooks(look))
      const refused: { [code: string]: number } = {}
      for (const { refused: code } of orders) if (code !== undefined) refused[code] = (refused[code] ?? 0) + 1
      const cut = orders.filter(one => !one.whole && one.refused === undefined && one.life.killedAt === undefined)
      const seconds = Math.round((performance.now() - began) / 1000)
      return { ...sums, violations: [...violations, ...sums.violations], seed, refused, cut: cut.length, seconds }
    },
  }
}
