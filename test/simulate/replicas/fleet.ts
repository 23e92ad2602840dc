import { DatabaseSync } from 'node:sqlite'
import { openStorage, rotateKey } from '../../../src/index.ts'
import type { Ask, Wish } from '../play/asks.ts'
import { writeRequest } from '../play/callers.ts'
import type { Settings } from '../play/settings.ts'
import { type LiveKey, Stage } from '../play/stage.ts'
import { Talk } from '../play/talk.ts'
import { Process, runAs } from '../world/process.ts'
import type { Row } from '../world/storage.ts'
import { unfoldSegments } from '../world/unfold.ts'
import type { World } from '../world/world.ts'
import type { Death, KeyEvent } from './deaths.ts'
import type { FleetPlan } from './plan.ts'
import { type Policy, Seat } from './seat.ts'
import type { Stores } from './stores.ts'

type Storage = Awaited<ReturnType<typeof openStorage>>

/** When a key was disabled, according to the acknowledgement that the administrator received. */
export type Closing = { readonly key: number; readonly from: number; until: number }
/** Charges of a frozen gateway, as they were when it was resumed. */
export type Fenced = { readonly gateway: number; readonly at: number; readonly charges: ReadonlyMap<string, Row> }

/** The tables with charges. */
export const bookTables = ['charge', 'line', 'entry', 'segment', 'reversal'] as const
const tables = [...bookTables, 'key', 'log_page'] as const

function openMirror(): DatabaseSync {
  const mirror = new DatabaseSync(':memory:')
  unfoldSegments(mirror)
  return mirror
}

/** Several gateways on one PostgreSQL and one Redis, and all observations of callers and vendors about them. */
export class Fleet extends Stage {
  readonly stores: Stores
  /** The gateways' setting for an unreachable Redis. */
  readonly policy: Policy
  readonly seats: readonly Seat[]
  readonly seatOf = new Map<Ask, Seat>()
  /** The process that received each ask. */
  readonly processOf = new Map<Ask, Process>()
  /** Periods in the world's time in which the gateways do not share counts: from, until. */
  readonly apart: { readonly from: number; until: number; readonly isForgotten: boolean }[] = []
  readonly closings: Closing[] = []
  readonly fenced: Fenced[] = []
  readonly deaths: Death[] = []
  /** Events about vendors' keys, in order, read at the end. */
  reported: readonly KeyEvent[] = []
  /** Charges that several people resolved concurrently, and the number of those whose decision was acknowledged. */
  readonly decided: { readonly id: string; readonly done: number }[] = []
  readonly refusals: { readonly id: string; readonly why: string; readonly at: number }[] = []
  /** A command line on a machine without faults. */
  readonly #desk = new Process('desk')
  #tool: Storage | undefined
  #mirror = openMirror()

  constructor(world: World, plan: FleetPlan, stores: Stores, story?: (line: string) => void) {
    super(world, plan, '.', story)
    this.stores = stores
    const { errors, crashes } = this.lives
    const { policy } = plan
    this.policy = policy
    this.seats = plan.skews.map((skewMs, no) => new Seat(no, { world, stores, policy, errors, crashes, skewMs }))
  }

  /** Rows as of the last `mirror`. */
  override look(sql: string, ...params: (string | number)[]): readonly Row[] {
    return this.#mirror.prepare(sql).all(...params) as Row[]
  }

  override settingsBetween(from: number, until?: number): readonly Settings[] {
    return this.seats.flatMap(seat => seat.versions.between(from, until))
  }

  override settingsOf(ask: Ask): readonly Settings[] {
    return this.#seatOf(ask).versions.between(ask.sentAt, ask.endedAt)
  }

  #seatOf(ask: Ask): Seat {
    const seat = this.seatOf.get(ask)
    if (!seat) throw new Error(`ask ${ask.no} is nobody's`)
    return seat
  }

  /** Copies the books to a place for queries. */
  async mirror(names: readonly string[] = tables): Promise<void> {
    if (names === tables) {
      this.#mirror.close()
      this.#mirror = openMirror()
    }
    for (const name of names) {
      const rows = await this.stores.rows(`SELECT * FROM ${name}`)
      const columns = await this.#columns(name)
      this.#mirror.exec(`DROP TABLE IF EXISTS main.${name}; CREATE TABLE main.${name} (${columns.join(', ')})`)
      const insert = this.#mirror.prepare(`INSERT INTO main.${name} VALUES (${columns.map(() => '?').join(', ')})`)
      for (const row of rows) insert.run(...columns.map(column => asText(row[column])))
    }
  }

  async #columns(table: string): Promise<readonly string[]> {
    const found = this.#known.get(table)
    if (found) return found
    const rows = await this.stores.rows(
      `SELECT column_name AS name FROM information_schema.columns WHERE table_name = '${table}' ORDER BY ordinal_position`,
    )
    const names = rows.map(row => String(row['name']))
    this.#known.set(table, names)
    return names
  }

  readonly #known = new Map<string, readonly string[]>()

  override async open(): Promise<void> {
    this.#tool = await this.world.time.runFor(
      runAs(this.#desk, () => openStorage({ url: this.stores.postgresUrl, role: 'tool' })),
    )
    await this.desk(storage => this.furnish(storage))
    for (const seat of this.seats) if (!(await seat.begin())) throw new Error('a gateway does not start')
  }

  /** An administrator's action by the command line. */
  async desk<T>(act: (storage: Storage) => T | PromiseLike<T>): Promise<T> {
    const storage = this.#tool
    if (!storage) throw new Error('the desk is closed')
    return this.world.time.runFor(runAs(this.#desk, async () => act(storage)))
  }

  /** Events about vendors' keys so far, in order, bypassing every fault. */
  async keyEvents(): Promise<readonly KeyEvent[]> {
    const rows = await this.stores.rows(
      `SELECT kind, data FROM event WHERE kind IN ('upstream.key_suspended', 'upstream.key_resumed') ORDER BY id`,
    )
    return rows.map(row => {
      const { key, reason, was, by } = JSON.parse(String(row['data'])) as { [name: string]: string | null }
      return { kind: String(row['kind']), key: key ?? '', reason: reason ?? was ?? '', by: by ?? null }
    })
  }

  async leave(): Promise<void> {
    await this.desk(storage => storage.close())
    this.#tool = undefined
  }

  /** At one of the running gateways. */
  override async admin(act: (storage: Storage) => Promise<void>, choice = 0): Promise<boolean> {
    const up = this.seats.filter(seat => seat.gateway && !seat.isFrozen)
    const seat = up[choice % Math.max(1, up.length)]
    if (!seat?.gateway) return false
    const { storage } = seat.gateway
    try {
      await this.world.time.runFor(
        runAs(seat.process, () => act(storage)),
        120_000,
      )
      return true
    } catch (error) {
      this.world.mark('a person was refused')
      this.tell(`  refused: ${error instanceof Error ? error.message : String(error)}`)
      return false
    }
  }

  override async verify(when: string): Promise<void> {
    const { problems } = await this.desk(storage => storage.books.verify())
    for (const problem of problems) this.findings.push({ at: this.world.time.tick, when, problem })
  }

  override async rotate(key: LiveKey, choice = 0): Promise<void> {
    const isKnown = await this.admin(async storage => {
      const rotated = await rotateKey(storage, key.id, 60_000, 'world')
      if (rotated) key.secret = rotated.secret
    }, choice)
    if (!isKnown) key.lost = true
  }

  /** Excuses failures at a gateway, or at all of them, until this many milliseconds have passed. */
  override disturb(why: string, ms: number, seat?: Seat): void {
    const { tick } = this.world.time
    this.disturbances.push({ from: tick, until: tick + ms })
    for (const one of seat ? [seat] : this.seats) {
      one.disturbedUntil = Math.max(one.disturbedUntil, this.world.time.tick + ms)
      one.why = why
    }
    for (const ask of this.asks)
      if (ask.endedAt === undefined && (!seat || this.seatOf.get(ask) === seat)) ask.disturbed ??= why
  }

  /** From now on the gateways do not all share counts. */
  part(ms: number, isForgotten = false): void {
    const { tick } = this.world.time
    this.apart.push({ from: tick, until: tick + ms, isForgotten })
  }

  override ask(wish: Wish, first?: Ask): Ask {
    return this.askAt(wish, first)
  }

  /** Sends a request to a given gateway, or to any. */
  askAt(wish: Wish, first?: Ask, seat = this.seats[wish.seed % this.seats.length] as Seat): Ask {
    const { time } = this.world
    const ask: Ask = {
      no: this.asks.length,
      wish,
      first: undefined as unknown as Ask,
      sentAt: time.tick,
      sentWall: time.wall,
      life: 0,
      entry: { kind: 'present' },
      arrivals: [],
      endedAt: undefined,
      left: false,
      disturbed: time.tick < seat.disturbedUntil ? seat.why : undefined,
      answer: undefined,
      informational: [],
      broken: undefined,
    }
    Object.assign(ask, { first: first ?? ask })
    this.asks.push(ask)
    this.seatOf.set(ask, seat)
    this.processOf.set(ask, seat.process)
    const { gateway, process } = seat
    if (!gateway) {
      ask.endedAt = time.tick
      ask.disturbed ??= 'nobody listens'
      return ask
    }
    const [outside, inside] = this.world.visit(process)
    time.after(0.1, 'a caller connects', () => gateway.accept(inside), process)
    const key = this.keys[wish.key]
    if (!key) throw new Error(`there is no key ${wish.key}`)
    new Talk(this.world, outside).send(ask, writeRequest(wish, ask.first.no, key.secret))
    return ask
  }
}

function asText(value: unknown): string | number | null {
  if (Buffer.isBuffer(value)) return value.toString('hex')
  if (typeof value === 'string' || typeof value === 'number') return value
  return value === null || value === undefined ? null : JSON.stringify(value)
}
