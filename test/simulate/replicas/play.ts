import '../../../src/engine/index.ts'
import '../../../src/gateway/gateway.ts'
import '../../../src/observe/index.ts'
import '../../../src/storage/postgres/kysely.ts'
import '../../../src/storage/postgres/open.ts'
import '../../../src/storage/counters/redis/counters.ts'
import '../../../src/storage/keys/list.ts'
import '../../../src/storage/journal/list.ts'
import '../../../src/storage/journal/summary.ts'
import '../../../src/storage/people/trail.ts'
import '../../../plugins/auth/plugin.ts'
import '../../../plugins/image-tier-billing/plugin.ts'
import '../../../plugins/token-usage/plugin.ts'
import 'prom-client'
import type { Alarm, Evidence, Probe } from '../oracles/oracle.ts'
import { stuckMoney } from '../oracles/stuck-money.ts'
import { codeOf, statusOf } from '../play/asks.ts'
import { imagePrices, plainSettings } from '../play/settings.ts'
import { readBooks } from '../play/books.ts'
import { tryKeys } from '../play/pool-end.ts'
import { freeOf, judge, type Outcome, outcomeOf, quietWish } from '../play/play.ts'
import type { World } from '../world/world.ts'
import { Fleet } from './fleet.ts'
import { perform } from './operations.ts'
import { fleetOracles } from './oracles.ts'
import type { FleetPlan } from './plan.ts'
import type { Stores } from './stores.ts'

const minute = 60_000
const day = 24 * 60 * minute
/** A lease, the next check by another gateway, and a sweep. */
const quietMs = 105_000

/** Plays a plan with several gateways to its end, and judges it. */
export async function playFleet(
  world: World,
  plan: FleetPlan,
  stores: Stores,
  story?: (line: string) => void,
): Promise<Outcome> {
  const fleet = new Fleet(world, plan, stores, story)
  const keep = (fault: unknown): void => {
    fleet.unhandled.push(fault instanceof Error ? (fault.stack ?? fault.message) : String(fault))
  }
  process.on('unhandledRejection', keep)
  process.on('uncaughtException', keep)
  const harness: Alarm[] = []
  const leftovers: string[] = []
  const probes: Probe[] = []
  fleet.tell(`${plan.skews.length} gateways, ${plan.policy} without Redis, clocks ${plan.skews.join(', ')} ms`)
  try {
    await fleet.open()
    for (const operated of plan.operations) await perform(fleet, operated)
    await rest(fleet)
    await fleet.mirror()
    // While they run: a closing gateway returns its lease, and the next one ends its open charges.
    const atRest: Evidence = { stage: fleet, books: readBooks(fleet), leftovers, probes }
    harness.push(...judge(stuckMoney, atRest))
    probes.push(...(await probe(fleet)))
    await tryKeys(fleet)
    leftovers.push(...(await close(fleet)))
  } catch (error) {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
    harness.push({ oracle: 'harness', what: detail.split('\n')[0] ?? '', detail })
  }
  await fleet.mirror()
  fleet.reported = await fleet.keyEvents()
  return outcomeOf(fleet, harness, fleetOracles, { leftovers, probes })
}

/** Ends the faults, and waits for everything that must happen eventually. */
async function rest(fleet: Fleet): Promise<void> {
  const { world, stores, upstreams, seats } = fleet
  stores.mend()
  upstreams.heal()
  for (const seat of seats) seat.process.skewMs = seat.skewMs = 0
  for (const seat of seats) if (seat.versions.settings !== plainSettings) await seat.configure(plainSettings)
  fleet.tell('— the faults end; minutes of quiet')
  await world.time.pass(quietMs)
  await untilAnswered(fleet)
  await fleet.verify('at rest')
  for (const { gateway, process } of seats) if (gateway && !process.dead) await fleet.admin(storage => storage.flush())
}

/**
 * Polls every second until no caller waits: for a vendor that never answers, a quarter of an hour. After its caller has
 * left, a slow answer is still read in order to charge it, and its charge is open until then.
 */
async function untilAnswered(fleet: Fleet): Promise<void> {
  const { time } = fleet.world
  const end = time.tick + 20 * minute
  const isUnderWay = (): boolean =>
    fleet.asks.some(ask => ask.endedAt === undefined) ||
    fleet.seats.some(({ gateway, process }) => !process.dead && (gateway?.open ?? 0) > 0)
  while (time.tick < end && isUnderWay()) await time.pass(1_000)
  await time.pass(2_000)
}

/** Sends a request wherever a budget must have room by the test's own sums. */
async function probe(fleet: Fleet): Promise<readonly Probe[]> {
  const probes: Probe[] = []
  const dearest = imagePrices['4K']
  for (const [number, key] of fleet.keys.entries()) {
    if (key.budget === null || key.lost || !key.enabled || key.uses.includes('chat')) continue
    if (key.period !== 'total') fleet.world.time.wrongBy += (key.period === 'day' ? 2 : 40) * day
    await fleet.world.time.pass(3_000)
    const free = freeOf(fleet, key)
    if (free < dearest) continue
    const ask = fleet.ask({ ...quietWish, key: number, n: Math.min(20, Math.floor(free / dearest)), seed: number })
    await untilAnswered(fleet)
    probes.push({ period: key.period, free, status: statusOf(ask), code: codeOf(ask) })
  }
  return probes
}

/** Closes the gateways and searches for leftovers. */
async function close(fleet: Fleet): Promise<readonly string[]> {
  const { world } = fleet
  const left: string[] = []
  await untilAnswered(fleet)
  for (const seat of fleet.seats) {
    const { process, gateway } = seat
    if (gateway && gateway.open > 0) left.push(`${gateway.open} requests are still open`)
    await seat.end()
    await world.time.pass(5_000)
    if (process.sockets.size > 0) left.push(`${process.sockets.size} sockets are still open`)
    for (const label of new Set(world.time.waitingFor(process)))
      left.push(`a gateway that has closed still waits: ${label}`)
  }
  await fleet.verify('closed')
  await fleet.leave()
  return left
}
