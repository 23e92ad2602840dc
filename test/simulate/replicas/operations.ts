import { runAs } from '../world/process.ts'
import { lookForOverdrafts } from '../oracles/overdraft.ts'
import { acts } from '../play/operations.ts'
import type { Wish } from '../play/asks.ts'
import { plainWish } from '../play/record.ts'
import type { Settings } from '../play/settings.ts'
import { bookTables, type Fleet } from './fleet.ts'
import { letKeyDie } from './key-death.ts'
import type { FleetKind, FleetOperated } from './plan.ts'
import type { Seat } from './seat.ts'
import type { Store } from './relay.ts'

type Act = (fleet: Fleet, operated: FleetOperated, seat: Seat) => Promise<void> | void

/**
 * Time for requests in progress to finish after a fault has ended: a statement times out, a connection is opened again.
 */
const afterwardsMs = 9_000
/** The server ends the transaction of a silent gateway after this time. */
const idleMs = 10_000
/** A lease, and the time until another gateway checks it. */
const leaseMs = 36_000
/** The delay until a gateway knows of a change. */
const knownMs = 1_000
/** The maximum time that a picture is held back while its line cannot be written. */
const insistsMs = 11_000
const codes = ['40001', '40P01', '53100', '57014', '55P03'] as const

/** The implementation of each kind of operation. */
const own: { readonly [kind in FleetKind]: Act } = {
  ask: (fleet, { wish }, seat) => void fleet.askAt(inUse(fleet, wish), undefined, seat),
  burst(fleet, { wish, count }) {
    const one = inUse(fleet, { ...wish, shapes: ['data'], idempotency: undefined })
    for (let i = 0; i < count; i++) fleet.askAt({ ...one, seed: one.seed + i }, undefined, at(fleet, i))
  },
  race(fleet, { wish, no, count }) {
    const one = { ...inUse(fleet, wish), idempotency: `race-${no}` }
    const first = fleet.askAt(one, undefined, at(fleet, count))
    for (let i = 1; i < 2 + (count % 4); i++) fleet.askAt({ ...one, leaves: undefined }, first, at(fleet, count + i))
  },
  spend(fleet, { wish, count }) {
    const key = fleet.keys.findIndex(one => one.name === 'total')
    const one: Wish = {
      ...wish,
      key,
      operation: 'image',
      model: 'alpha-image-2',
      stream: false,
      idempotency: undefined,
    }
    for (let i = 0; i < count; i++)
      fleet.askAt({ ...one, shapes: ['data'], wire: 'plain', seed: one.seed + i }, undefined, at(fleet, i))
  },
  places(fleet, { wish, count }) {
    const key = fleet.keys.findIndex(one => one.group === 'tight')
    const one = { ...wish, key, shapes: ['data'], idempotency: undefined }
    for (let i = 0; i < 3 + (count % 6); i++) fleet.askAt({ ...one, seed: one.seed + i }, undefined, at(fleet, i))
  },
  words(fleet, { wish, count }) {
    const key = fleet.keys.findIndex(one => one.group === 'tokens')
    const one: Wish = { ...wish, key, operation: 'chat', model: 'sim-chat', idempotency: undefined, leaves: undefined }
    for (let i = 0; i < count; i++)
      fleet.askAt({ ...one, shapes: ['data'], seed: one.seed + i }, undefined, at(fleet, i))
  },
  again(fleet, { choice, wish }, seat) {
    const named = fleet.asks.filter(ask => ask.wish.idempotency !== undefined && ask.first === ask)
    const first = named[choice % Math.max(1, named.length)]
    if (first) fleet.askAt({ ...first.wish, leaves: wish.leaves }, first, seat)
  },
  verify: fleet => fleet.verify('under way'),
  wait: (fleet, { lasts }) => fleet.world.time.pass(lasts),
  freeze: (fleet, { lasts }, seat) => freeze(fleet, seat, lasts),
  'freeze long': (fleet, { lasts }, seat) => freeze(fleet, seat, leaseMs + lasts),
  async kill(fleet, { lasts, choice }, seat) {
    const { time } = fleet.world
    fleet.disturb('kill', lasts + afterwardsMs, seat)
    // At any point of its work, including between a commit and its answer.
    const until = time.tick + 3_000
    for (let left = choice % 120; left > 0 && (await time.step(until)); left--);
    fleet.world.mark('fault: kill')
    seat.kill()
    await time.pass(lasts)
    await begin(fleet, seat)
  },
  restart: (fleet, _operated, seat) => restart(fleet, seat),
  async roll(fleet) {
    for (const seat of fleet.seats) await restart(fleet, seat)
  },
  'postgres held': (fleet, { lasts }, seat) => breakLink(fleet, seat, 'postgres', 'held', lasts),
  'postgres refused': (fleet, { lasts }, seat) => breakLink(fleet, seat, 'postgres', 'refused', lasts),
  async 'postgres ends sessions'(fleet) {
    fleet.world.mark('fault: postgres ends sessions')
    fleet.disturb('postgres ends sessions', afterwardsMs)
    await fleet.stores.endSessions()
  },
  'redis held': (fleet, { lasts }, seat) => breakLink(fleet, seat, 'redis', 'held', lasts),
  'redis refused': (fleet, { lasts }, seat) => breakLink(fleet, seat, 'redis', 'refused', lasts),
  async 'redis forgets'(fleet) {
    fleet.world.mark('fault: redis forgets')
    fleet.part(0, true)
    await fleet.stores.flushRedis()
  },
  'commits in doubt': (fleet, { lasts }, seat) => loseAnswers(fleet, seat, 'postgres', lasts),
  async 'gone at a commit'(fleet, { lasts, choice, wish }, seat) {
    const { time } = fleet.world
    const pictures = {
      ...plainWish,
      key: inUse(fleet, { ...wish, operation: 'image' }).key,
      n: wish.n,
      seed: wish.seed,
    }
    for (let i = 0; i < 3; i++) fleet.askAt({ ...pictures, seed: wish.seed + i }, undefined, seat)
    // At any point of their writes; and for longer than a gateway retries a write.
    const until = time.tick + 3_000
    for (let left = choice % 200; left > 0 && (await time.step(until)); left--);
    const ms = insistsMs + lasts / 2
    fleet.world.mark('fault: postgres gone at a commit')
    spoil(fleet, seat, 'postgres', 'postgres gone at a commit', ms)
    mendLater(fleet, seat, 'postgres', ms)
    fleet.stores.set(seat.process, 'postgres', { answersLost: 1, endsThen: true })
  },
  'counters in doubt': (fleet, { lasts }, seat) => loseAnswers(fleet, seat, 'redis', lasts),
  'writes fail'(fleet, { lasts, choice }) {
    const code = codes[choice % codes.length] as string
    fleet.world.mark(`fault: writes fail, ${code}`)
    fleet.disturb('writes fail', lasts + afterwardsMs)
    fleet.stores.fail({ code, every: 3 + (choice % 25) })
    fleet.world.time.after(lasts, 'writes go well again', () => fleet.stores.fail(undefined), null)
  },
  skew(fleet, { skew }, seat) {
    fleet.world.mark('fault: clock of a gateway set')
    seat.skewMs = skew
    seat.process.skewMs = skew
  },
  outage: (fleet, operated) => acts.outage(fleet, { ...operated, kind: 'outage' }),
  lag: (fleet, operated) => acts.lag(fleet, { ...operated, kind: 'lag' }),
  budget: (fleet, operated) => acts.budget(fleet, { ...operated, kind: 'budget' }),
  reload: (fleet, { choice }, seat) => reload(fleet, [seat], nextSettings(seat, choice), 0),
  async 'reload all'(fleet, { choice, lasts, wish }, seat) {
    fleet.world.mark('reloaded one after the other')
    const first = fleet.seats.indexOf(seat)
    const inTurn = fleet.seats.map((_, i) => at(fleet, first + i))
    for (const one of fleet.seats) fleet.askAt(inUse(fleet, { ...wish, idempotency: undefined }), undefined, one)
    await reload(fleet, inTurn, nextSettings(seat, choice), lasts / 4)
  },
  async disable(fleet, { key, lasts, choice }) {
    const one = fleet.keys[key]
    if (!one) return
    const { world } = fleet
    const change = (status: 'disabled' | 'active') =>
      fleet.admin(async storage => void (await storage.keys.change(one.id, { status }, 'world')), choice)
    one.enabled = false
    if (await change('disabled')) {
      world.mark('key disabled')
      const closing = { key, from: world.time.tick + knownMs, until: Infinity }
      fleet.closings.push(closing)
      for (let i = 0; i < 4; i++) {
        await world.time.pass(lasts / 4)
        for (const seat of fleet.seats) fleet.askAt(knock(fleet, key, choice), undefined, seat)
      }
      closing.until = world.time.tick
    }
    for (let tries = 0; tries < 20 && !one.enabled; tries++) {
      one.enabled = await change('active')
      if (!one.enabled) await world.time.pass(5_000)
    }
    await world.time.pass(2 * knownMs)
  },
  async rotate(fleet, { key, choice }) {
    const one = fleet.keys[key]
    if (!one) return
    fleet.world.mark('key rotated')
    await fleet.rotate(one, choice)
  },
  'decide twice': (fleet, operated) => decide(fleet, operated, 'needs_review'),
  'refund twice': (fleet, operated) => decide(fleet, operated, 'settled'),
  'key dies': (fleet, operated) => letKeyDie(fleet, operated),
}

export async function perform(fleet: Fleet, operated: FleetOperated): Promise<void> {
  const { time } = fleet.world
  await time.pass(operated.gap)
  const { kind, wish, seat, lasts, count } = operated
  const what = `${wish.operation} n=${wish.n} key ${wish.key} ${wish.shapes.join(' ')} × ${count}`
  fleet.tell(`${(time.tick / 1_000).toFixed(1).padStart(8)}s  ${kind.padEnd(24)} gateway ${seat}, ${lasts} ms; ${what}`)
  await own[kind](fleet, operated, at(fleet, seat))
  await fleet.mirror(bookTables)
  lookForOverdrafts(fleet)
  fleet.watchReviews()
}

function at(fleet: Fleet, no: number): Seat {
  return fleet.seats[no % fleet.seats.length] as Seat
}

/**
 * Keys are restricted to their uses: text may overdraw a budget, so it must not use keys for which an overdraft is a
 * fault.
 */
function inUse(fleet: Fleet, wish: Wish): Wish {
  const key = fleet.keys[wish.key]
  return key?.uses.includes(wish.operation) ? wish : { ...wish, key: 0 }
}

/** A request that tests a key. */
function knock(fleet: Fleet, key: number, seed: number): Wish {
  const text = fleet.keys[key]?.uses.includes('chat')
  const plain = { ...plainWish, key, seed }
  return text
    ? { ...plain, operation: 'chat', model: 'sim-chat' }
    : { ...plain, operation: 'image', model: 'alpha-image-2' }
}

const changeable = ['dear', 'narrow', 'alone', 'doubts'] as const

/** A random change to a gateway's configuration. */
function nextSettings({ versions: { settings } }: Seat, choice: number): Settings {
  const name = changeable[choice % changeable.length] as (typeof changeable)[number]
  return { ...settings, [name]: !settings[name] }
}

/** Gateways reload another configuration one after the other; in between they use different ones. */
async function reload(fleet: Fleet, seats: readonly Seat[], settings: Settings, betweenMs: number): Promise<void> {
  for (const seat of seats) {
    if (await seat.configure(settings)) fleet.world.mark('reload')
    await fleet.world.time.pass(betweenMs)
  }
}

async function freeze(fleet: Fleet, seat: Seat, ms: number): Promise<void> {
  if (!seat.gateway) return
  const { time } = fleet.world
  fleet.world.mark(ms > leaseMs ? 'fault: frozen for longer than a lease' : 'fault: frozen')
  fleet.disturb('frozen', ms + afterwardsMs, seat)
  // Its locks remain until the server ends its transaction.
  fleet.disturb('another is frozen', idleMs + afterwardsMs)
  // Its earlier queries to Redis have timed out: it counts by itself, or refuses.
  fleet.part(ms + afterwardsMs)
  seat.process.frozen = true
  await time.pass(ms)
  await keepEnded(fleet, seat)
  time.thaw(seat.process)
}

/** Charges of a silent gateway that others have ended must be unchanged when it resumes. */
async function keepEnded(fleet: Fleet, seat: Seat): Promise<void> {
  await fleet.mirror(bookTables)
  const rows = fleet.look(
    `SELECT charge.*, (SELECT count(*) FROM line WHERE charge_id = charge.id) AS lines FROM charge
     WHERE reason = 'gateway_stopped'`,
  )
  if (rows.length === 0) return
  fleet.world.mark('charges of a frozen gateway were ended')
  const charges = new Map(rows.map(row => [String(row['id']), row]))
  fleet.fenced.push({ gateway: seat.no, at: fleet.world.time.tick, charges })
}

async function begin(fleet: Fleet, seat: Seat): Promise<void> {
  for (let tries = 0; !(await seat.begin()); tries++) {
    if (tries > 40) throw new Error('a gateway does not start again')
    await fleet.world.time.pass(5_000)
  }
}

async function restart(fleet: Fleet, seat: Seat): Promise<void> {
  fleet.world.mark('fault: restart')
  fleet.disturb('restart', afterwardsMs, seat)
  await seat.end()
  await begin(fleet, seat)
  fleet.disturb('restart', 1_000, seat)
}

function breakLink(fleet: Fleet, seat: Seat, store: Store, state: 'held' | 'refused', ms: number): void {
  fleet.world.mark(`fault: ${store} ${state}`)
  spoil(fleet, seat, store, `${store} ${state}`, ms)
  if (store === 'postgres' && state === 'held') fleet.disturb('another is cut off', idleMs + afterwardsMs)
  mendLater(fleet, seat, store, ms)
  fleet.stores.set(seat.process, store, { state })
}

function loseAnswers(fleet: Fleet, seat: Seat, store: Store, ms: number): void {
  spoil(fleet, seat, store, `${store} in doubt`, ms)
  mendLater(fleet, seat, store, ms)
  fleet.stores.set(seat.process, store, { answersLost: 0.25, questionsLost: 0.1 })
}

function spoil(fleet: Fleet, seat: Seat, store: Store, why: string, ms: number): void {
  fleet.disturb(why, ms + afterwardsMs, seat)
  if (store === 'redis') fleet.part(ms + afterwardsMs)
}

function mendLater(fleet: Fleet, { process }: Seat, store: Store, ms: number): void {
  fleet.world.time.after(ms, `${store} is there again`, () => fleet.stores.set(process, store, {}), null)
}

/** Two people resolve one charge at two gateways, concurrently. */
async function decide(fleet: Fleet, { choice }: FleetOperated, state: 'needs_review' | 'settled'): Promise<void> {
  await fleet.mirror(bookTables)
  const rows = fleet.look('SELECT id FROM charge WHERE state = ? ORDER BY id', state)
  const id = rows[choice % Math.max(1, rows.length)]?.['id']
  if (typeof id !== 'string') return
  const { time } = fleet.world
  fleet.world.mark(state === 'settled' ? 'refunded twice at once' : 'decided twice at once')
  const up = fleet.seats.filter(seat => seat.gateway && !seat.isFrozen)
  const tries = up.map(({ process, gateway }, i) =>
    runAs(process, async () => {
      const books = gateway?.storage.books
      if (!books) return false
      if (state === 'settled') return (await books.refund(id, 'world', 'a try')) > 0
      return books.resolve(id, i % 2 === choice % 2 ? 'settle' : 'void', 'world', 'a try')
    }),
  )
  const results = await time.runFor(Promise.allSettled(tries), 120_000)
  const done = results.filter(one => one.status === 'fulfilled' && one.value).length
  for (const one of results)
    if (one.status === 'rejected')
      fleet.refusals.push({
        id,
        why: one.reason instanceof Error ? one.reason.message : String(one.reason),
        at: time.tick,
      })
  fleet.decided.push({ id, done })
  fleet.decisions.push({ id, how: state === 'settled' ? 'refund' : 'settle', amount: 0, at: time.tick })
}
