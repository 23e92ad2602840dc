import type { Ask } from '../play/asks.ts'
import type { Ill } from '../play/ills.ts'
import { askAmongLimited, enrol } from '../play/pool-end.ts'
import { effectOf, type PoolKey, poolKeys, secretOf } from '../play/pool.ts'
import { resume } from '../play/pool-operations.ts'
import { plainWish } from '../play/record.ts'
import type { Fleet } from './fleet.ts'
import type { FleetOperated } from './plan.ts'

const deaths: readonly Ill[] = ['revoked', 'unpaid', 'forbidden', 'out of quota']
/** `one` usually gets more requests than the others. */
const mortal = ['one', 'two', 'one', 'four']
/** The delay until other gateways know what one knows about a key, or what a person has changed. */
const heardMs = 8_000
/** After this, keys that a gateway has found limited once are used again. */
const cooledMs = 65_000
/** Each takes minutes, during which every gateway queries the servers several times per second. */
const deathsMost = 2
/** Time for a request to finish. */
const askedMs = 15_000
/**
 * A free probe follows after a minute, and the next after five, by clocks that may differ by a minute in each
 * direction.
 */
const lookedMostMs = 9 * 60_000

/**
 * A key is revoked while all gateways use it, and recovers: by its vendor, which a free probe detects, or by a person
 * who pays.
 */
export async function letKeyDie(fleet: Fleet, { choice }: FleetOperated): Promise<void> {
  const { world, upstreams } = fleet
  const { time } = world
  const { keys } = upstreams
  const key = poolKeys.find(({ name }) => name === mortal[(choice >> 4) % mortal.length])
  const ill = deaths[(choice >> 2) % deaths.length]
  const secret = key && secretOf(key)
  const caller = await callerOf(fleet)
  if (!key || !ill || secret === undefined || caller === undefined || fleet.deaths.length >= deathsMost) return
  world.mark('fault: a key dies under several gateways')
  fleet.tell(`  ${secret}: ${ill}`)
  const from = time.tick
  const before = (await fleet.keyEvents()).length
  const asks: Ask[] = []
  const askAll = async (each: number): Promise<void> => {
    for (const seat of fleet.seats)
      for (let i = 0; i < each; i++)
        asks.push(
          fleet.askAt({ ...plainWish, key: caller, model: 'pool-pair', seed: choice + asks.length }, undefined, seat),
        )
    await time.pass(askedMs)
  }
  keys.fall(secret, ill, Number.MAX_SAFE_INTEGER)
  await askAll(4)
  await time.pass(heardMs)
  await askAll(3)
  keys.heal(secret)
  await mend(fleet, key, secret, ill)
  await time.pass(heardMs)
  // If it died before and could not be reported, its earlier state remains too.
  const isKnown = fleet.deaths.every(one => one.isSound || one.key !== key.name)
  const isSound = isKnown && fleet.disturbances.every(({ until }) => until < from)
  for (const seat of fleet.seats) {
    const returned = await askAmongLimited(fleet, key, wish => fleet.askAt({ ...wish, key: caller }, undefined, seat))
    if (isSound) keys.returns.push(returned)
  }
  await time.pass(cooledMs)
  const events = (await fleet.keyEvents()).slice(before).filter(one => one.key === key.name)
  const count = (kind: string): number => events.filter(one => one.kind === kind).length
  const reported = { suspended: count('upstream.key_suspended'), resumed: count('upstream.key_resumed') }
  fleet.deaths.push({ key: key.name, secret, from, until: time.tick, asks, isSound, reported })
}

/** Waits until it may be used again, if any gateway has found that it is dead. */
async function mend(fleet: Fleet, key: PoolKey, secret: string, ill: Ill): Promise<void> {
  const { time } = fleet.world
  const { keys } = fleet.upstreams
  const isKnown = fleet.asks.some(({ arrivals }) => arrivals.some(one => one.secret === secret && one.ill === ill))
  if (!isKnown) return
  if (effectOf(ill) === 'no_credit') return resume(fleet, key)
  const mendedAt = time.tick
  const isSeen = (): boolean => keys.looks.some(one => one.secret === secret && one.at >= mendedAt)
  while (!isSeen() && time.tick < mendedAt + lookedMostMs) await time.pass(5_000)
}

/** A caller without limits or a budget; the same one for all of them. */
async function callerOf(fleet: Fleet): Promise<number | undefined> {
  const known = fleet.keys.findIndex(({ name }) => name === 'pools')
  return known < 0 ? enrol(fleet) : known
}
