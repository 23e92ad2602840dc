import { createKey, rotateKey } from '../../../src/index.ts'
import { firstIdAt } from '../../../src/util/index.ts'
import { runAs } from '../world/process.ts'
import type { Row } from '../world/storage.ts'
import type { SimSocket } from '../world/sockets.ts'
import type { World } from '../world/world.ts'
import type { Ask, Entry, Wish } from './asks.ts'
import { toolOf, writeRequest } from './callers.ts'
import { endUserOf } from './end-users.ts'
import { Lives } from './life.ts'
import type { Cast, Operated, PlannedKey } from './plan.ts'
import { OddRequests } from './odd-requests.ts'
import type { PoolKey } from './pool.ts'
import { type GroupName, hosts, plainSettings, type Settings } from './settings.ts'
import { Sessions } from './sessions.ts'
import { Talk } from './talk.ts'
import { Upstreams } from './upstreams.ts'

const day = 86_400_000
/** The previous secret stays valid for this long. */
const overlapMs = 60_000

type Storage = NonNullable<Lives['gateway']>['storage']

/** The current state of a key. */
export type LiveKey = PlannedKey & {
  readonly id: string
  secret: string
  enabled: boolean
  now: number | null
  lost: boolean
  /** The commit time of its disabling; undefined while it is enabled. */
  disabledAt: number | undefined
  /** The previous secret. */
  old: { readonly secret: string; readonly since: number; readonly overlapMs: number } | undefined
  /** Every group that it was in, or may have been. */
  readonly groups: GroupName[]
}

/** A charge under review, as it was when first seen. */
export type Waiting = { readonly at: number; readonly kept: number; readonly hold: number }

/** The result of an audit, and its time. */
export type Finding = { readonly at: number; readonly when: string; readonly problem: string }

/** Charges that a person resolved or refunded. */
export type Decision = {
  readonly id: string
  readonly how: 'settle' | 'void' | 'refund'
  /** The cost that a person decided; 0 if none was given. */
  readonly amount: number
  readonly at: number
}

/** The complete play: the world, its gateway, and all observations of callers and vendors. */
export class Stage {
  readonly world: World
  readonly plan: Cast
  readonly lives: Lives
  readonly upstreams: Upstreams
  readonly asks: Ask[] = []
  readonly keys: LiveKey[] = []
  readonly findings: Finding[] = []
  readonly decisions: Decision[] = []
  /** The sums of the console at rest. */
  told: Told | undefined
  /** Wrong sums in the middle of the play. */
  readonly overdrafts: Finding[] = []
  /** Times of clock jumps. */
  readonly jumps: number[] = []
  /** The wall time after the last jump. */
  jumpedTo = 0
  /** The latest wall time before a jump back: charges may exist on days and months until then. */
  latestWall = 0
  /** True after a jump back by a day or more: then the current day cannot be determined from outside. */
  hasJumpedFarBack = false
  /** Charges that were seen under review. */
  readonly waiting = new Map<string, Waiting>()
  readonly odd: OddRequests
  readonly sessions: Sessions
  /** Unhandled errors. */
  readonly unhandled: string[] = []
  readonly story: ((line: string) => void) | undefined
  readonly #talks = new Map<number, Talk>()
  /** Times of machine faults, in the world's time. */
  readonly disturbances: { readonly from: number; readonly until: number }[] = []
  #disturbedUntil = 0
  #why = ''
  /** The last result of `isNews`. */
  #seen = ''

  constructor(world: World, plan: Cast, folder: string, story?: (line: string) => void) {
    this.world = world
    this.plan = plan
    this.story = story
    this.lives = new Lives(world, folder, plan.endUsers ? { ...plainSettings, endUsers: true } : plainSettings)
    this.upstreams = new Upstreams(world, this.asks, () => this.lives.count)
    this.odd = new OddRequests(this)
    this.sessions = new Sessions(this)
    this.upstreams.sessions = this.sessions
  }

  /** Sets the wall clock. */
  jump(by: number): void {
    this.jumps.push(this.world.time.tick)
    this.set(by)
  }

  /** At the end the wall clock advances differently. */
  set(by: number): void {
    const { time } = this.world
    this.latestWall = Math.max(this.latestWall, time.wall)
    time.wrongBy += by
    this.jumpedTo = time.wall
    this.hasJumpedFarBack ||= by <= -day
  }

  /** Rows of the gateway's books, by SQL of the test's own. */
  look(sql: string, ...params: (string | number)[]): readonly Row[] {
    return this.world.disk.look(this.lives.path, sql, ...params)
  }

  /** All configurations that may have been in use between two times. */
  settingsBetween(from: number, until?: number): readonly Settings[] {
    return this.lives.versions.between(from, until)
  }

  /** The configurations that may have applied to a request. */
  settingsOf({ sentAt, endedAt }: Ask): readonly Settings[] {
    return this.settingsBetween(sentAt, endedAt)
  }

  /** Whether the books, or the limits of keys to check them against, have changed since the last call. */
  isNews(): boolean {
    const committed = this.world.disk.committed(this.lives.path)
    const { decisions, hasJumpedFarBack, jumpedTo, world } = this
    const bounds = this.keys.map(({ budget, now, period }) => [budget, now, period])
    const today = Math.floor(world.time.wall / day)
    const seen = JSON.stringify([
      committed,
      this.lives.count,
      decisions.length,
      hasJumpedFarBack,
      jumpedTo,
      today,
      bounds,
    ])
    const isNews = committed === undefined || seen !== this.#seen
    this.#seen = seen
    return isNews
  }

  /** Several reads at one moment, which share one connection. */
  looking(act: () => void): void {
    this.world.disk.looking(this.lives.path, act)
  }

  async open(): Promise<void> {
    await this.lives.begin()
    await this.admin(storage => this.furnish(storage))
  }

  /** Creates users and keys, as an administrator does. */
  protected async furnish(storage: Storage): Promise<void> {
    await storage.users.create({ name: 'ada', group: 'default', role: 'user', passwordHash: null })
    await storage.users.create({ name: 'bob', group: 'team', role: 'user', passwordHash: null })
    for (const planned of this.plan.keys) {
      const { name, user, group, budget, period, rpm } = planned
      const limits = rpm === undefined ? {} : { rpm }
      const made = await createKey(
        storage,
        { name, user, group, budget, budgetPeriod: period, limits },
        'world',
        this.world.random,
      )
      const live = { enabled: true, now: budget, lost: false, disabledAt: undefined, old: undefined }
      this.keys.push({ ...planned, ...live, id: made.key.id, secret: made.secret, groups: [group] })
    }
  }

  /** An administrator's action at the gateway; a failed one may be repeated. */
  async admin(act: (storage: Storage) => Promise<void>): Promise<boolean> {
    const { gateway, process } = this.lives
    if (!gateway) return false
    try {
      await this.world.time.runFor(
        runAs(process, () => act(gateway.storage)),
        300_000,
      )
      return true
    } catch (error) {
      this.world.mark('a person was refused')
      this.tell(`  refused: ${error instanceof Error ? error.message : String(error)}`)
      return false
    }
  }

  /** Excuses failures of everything in progress until this many milliseconds have passed. */
  disturb(why: string, ms: number): void {
    const { tick } = this.world.time
    this.disturbances.push({ from: tick, until: tick + ms })
    this.#disturbedUntil = Math.max(this.#disturbedUntil, tick + ms)
    this.#why = why
    for (const ask of this.asks) if (ask.endedAt === undefined) ask.disturbed ??= why
  }

  /** A person suspends or resumes a vendor's key. */
  decide({ upstream, name }: PoolKey, state: 'suspended' | 'active', until: number | null): Promise<boolean> {
    return this.admin(async storage => {
      const decision = { upstream, key: name, hash: 'of-the-world', state, until, note: 'a try', others: undefined }
      await storage.vendorKeys.decide(decision, 'world')
    })
  }

  tell(line: string): void {
    this.story?.(line)
  }

  /** A caller sends a request; if nothing listens, it ends there. */
  ask(wish: Wish, first?: Ask, isOld = false): Ask {
    const { time } = this.world
    const disturbed = time.tick < this.#disturbedUntil ? this.#why : undefined
    const ask: Ask = {
      no: this.asks.length,
      wish,
      first: undefined as unknown as Ask,
      sentAt: time.tick,
      sentWall: time.wall,
      life: this.lives.count,
      entry: this.#entryOf(wish.key, isOld),
      arrivals: [],
      endedAt: undefined,
      left: false,
      disturbed,
      answer: undefined,
      informational: [],
      broken: undefined,
    }
    Object.assign(ask, { first: first ?? ask })
    this.asks.push(ask)
    if (!this.lives.gateway) {
      ask.endedAt = time.tick
      ask.disturbed ??= 'nobody listens'
      return ask
    }
    const secret = isOld ? this.#key(wish.key).old?.secret : this.#key(wish.key).secret
    if (toolOf(wish) !== undefined) this.world.mark('a text model is asked for a picture')
    this.#talkFor(wish).send(ask, writeRequest(wish, ask.first.no, secret ?? 'none', this.endUserOf(wish)))
    return ask
  }

  /** The end user that a caller names, if the story has end users. */
  endUserOf(wish: Pick<Wish, 'seed' | 'key'>): string | undefined {
    return this.plan.endUsers ? endUserOf(wish) : undefined
  }

  /** A new connection, if no kept one fits. */
  #talkFor(wish: Wish): Talk {
    const known = this.#talks.get(wish.key)
    const fits = known?.isOpen === true && (known.isIdle || wish.connection === 'pipeline')
    if (known && fits && wish.connection !== 'close') {
      this.world.mark(known.isIdle ? 'connection kept' : 'request pipelined')
      return known
    }
    const talk = new Talk(this.world, this.connect())
    if (wish.connection !== 'close') this.#talks.set(wish.key, talk)
    return talk
  }

  /** A caller's end of a new connection. @throws Error when nothing listens */
  connect(): SimSocket {
    const { gateway, process } = this.lives
    if (!gateway) throw new Error('nobody listens')
    const [outside, inside] = this.world.visit(process)
    runAs(process, () => gateway.accept(inside))
    return outside
  }

  /** A disabled key is about to be enabled again: requests still on their way to the gateway may be admitted. */
  beginEnabling(number: number): void {
    this.#key(number).disabledAt = undefined
    for (const ask of this.asks)
      if (ask.wish.key === number && ask.endedAt === undefined && ask.arrivals.length === 0)
        ask.entry = { kind: 'present' }
  }

  #entryOf(number: number, isOld: boolean): Entry {
    const { disabledAt, old } = this.#key(number)
    if (disabledAt !== undefined) return { kind: 'disabled', since: disabledAt }
    return isOld && old ? { kind: 'replaced', since: old.since, overlapMs: old.overlapMs } : { kind: 'present' }
  }

  #key(number: number): LiveKey {
    const found = this.keys[number]
    if (!found) throw new Error(`there is no key ${number}`)
    return found
  }

  /** Records the charges currently under review. */
  watchReviews(): void {
    for (const row of this.look(`SELECT id, kept, hold FROM charge WHERE state = 'needs_review'`))
      if (!this.waiting.has(String(row['id'])))
        this.waiting.set(String(row['id']), {
          at: this.world.time.tick,
          kept: Number(row['kept']),
          hold: Number(row['hold']),
        })
  }

  /** The vendor that an operation means. */
  hostOf({ host }: Operated): string {
    const all = Object.values(hosts)
    return all[host % all.length] as string
  }

  async rotate(key: LiveKey): Promise<void> {
    const isKnown = await this.admin(async storage => {
      const rotated = await rotateKey(storage, key.id, overlapMs, 'world', this.world.random)
      if (!rotated) return
      // After an uncertain rotation the secret is unknown: the previous secret may not be the recorded one.
      key.old = key.lost ? undefined : { secret: key.secret, since: this.world.time.tick, overlapMs }
      key.secret = rotated.secret
    })
    // Committed or not: no response with the new secret arrived.
    if (!isKnown) key.lost = true
  }

  async verify(when: string): Promise<void> {
    const { time } = this.world
    await this.admin(async storage => {
      const { problems } = await storage.books.verify()
      for (const problem of problems) this.findings.push({ at: time.tick, when, problem })
    })
  }

  /** Reads the console's sums at rest, and computes the expected ones. */
  async askForSums(): Promise<void> {
    await this.admin(async storage => {
      const { journal } = storage
      await storage.flush()
      // A wrong clock may have been ahead by years, several times.
      const span = { since: 0, until: 1e15 }
      const logged: string[] = []
      for (let before: string | undefined; ; before = logged.at(-1)) {
        const page = await journal.list({ limit: 1_000, ...(before !== undefined && { before }) })
        logged.push(...page.map(({ row }) => row.id))
        if (page.length < 1_000) break
      }
      const used = new Map<string, number>()
      for (const { currency, amount } of await journal.usage(span))
        used.set(currency, (used.get(currency) ?? 0) + amount)
      const { spent } = await journal.summary(span)
      const charged = this.look(
        `SELECT currency, sum(amount) AS amount FROM charge WHERE state = 'settled' GROUP BY currency ORDER BY currency`,
      )
      const [pruned] = this.look(`SELECT value FROM meta WHERE name = 'pruned_until'`)
      const settled = this.look(
        `SELECT id FROM charge WHERE state = 'settled' AND id NOT LIKE '%.u' AND id >= ?`,
        firstIdAt('req_', Number(pruned?.['value'] ?? 0)),
      )
      this.told = {
        used: [...used].toSorted(([a], [b]) => (a < b ? -1 : 1)),
        spent: spent.map(({ currency, amount }) => [currency, amount]),
        charged: charged.map(row => [String(row['currency']), Number(row['amount'])]),
        logged,
        settled: settled.map(row => String(row['id'])),
      }
    })
  }
}

type Sums = readonly (readonly [currency: string, amount: number])[]
/** `logged`: ids of the log's rows; `settled`: ids of settled charges. */
export type Told = {
  readonly used: Sums
  readonly spent: Sums
  readonly charged: Sums
  readonly logged: readonly string[]
  readonly settled: readonly string[]
}
