import { createKey, rotateKey } from '../../../src/index.ts'
import { runAs } from '../world/process.ts'
import type { Row } from '../world/storage.ts'
import type { World } from '../world/world.ts'
import type { Ask, Wish } from './asks.ts'
import { send } from './callers.ts'
import { Lives } from './life.ts'
import type { Operated, Plan, PlannedKey } from './plan.ts'
import { hosts } from './settings.ts'
import { Upstreams } from './upstreams.ts'

/** A key as it is now. */
export type LiveKey = PlannedKey & {
  readonly id: string
  secret: string
  enabled: boolean
  now: number | null
  lost: boolean
}

/** What an audit found, and when. */
export type Finding = { readonly at: number; readonly when: string; readonly problem: string }

/** Charges that a person decided or gave back. */
export type Decision = { readonly id: string; readonly how: 'settle' | 'void' | 'refund'; readonly at: number }

/** The whole play: the world, the gateway in it, and everything that callers and vendors saw. */
export class Stage {
  readonly world: World
  readonly plan: Plan
  readonly lives: Lives
  readonly upstreams: Upstreams
  readonly asks: Ask[] = []
  readonly keys: LiveKey[] = []
  readonly findings: Finding[] = []
  readonly decisions: Decision[] = []
  /** Sums that were wrong in the middle of it. */
  readonly overdrafts: Finding[] = []
  /** Times of jumps of the clock. */
  readonly jumps: number[] = []
  /** What nobody handled. */
  readonly unhandled: string[] = []
  readonly story: ((line: string) => void) | undefined
  #disturbedUntil = 0
  #why = ''

  constructor(world: World, plan: Plan, folder: string, story?: (line: string) => void) {
    this.world = world
    this.plan = plan
    this.story = story
    this.lives = new Lives(world, folder)
    this.upstreams = new Upstreams(world, this.asks, () => this.lives.count)
  }

  /** Rows of the gateway's books, by SQL of the test's own. */
  look(sql: string, ...params: (string | number)[]): readonly Row[] {
    return this.world.disk.look(this.lives.path, sql, ...params)
  }

  async open(): Promise<void> {
    await this.lives.begin()
    await this.admin(async storage => {
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
        this.keys.push({ ...planned, id: made.key.id, secret: made.secret, enabled: true, now: budget, lost: false })
      }
    })
  }

  /** Something that a person does at the gateway; what fails there is theirs to try again. */
  async admin(act: (storage: NonNullable<Lives['gateway']>['storage']) => Promise<void>): Promise<boolean> {
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

  /** What goes on now may end badly without that being anybody's fault, until so many milliseconds have passed. */
  disturb(why: string, ms: number): void {
    this.#disturbedUntil = Math.max(this.#disturbedUntil, this.world.time.tick + ms)
    this.#why = why
    for (const ask of this.asks) if (ask.endedAt === undefined) ask.disturbed ??= why
  }

  tell(line: string): void {
    this.story?.(line)
  }

  /** A caller asks; where nobody listens, that is the end of it. */
  ask(wish: Wish, first?: Ask): Ask {
    const { time } = this.world
    const disturbed = time.tick < this.#disturbedUntil ? this.#why : undefined
    const ask: Ask = {
      no: this.asks.length,
      wish,
      first: undefined as unknown as Ask,
      sentAt: time.tick,
      sentWall: time.wall,
      life: this.lives.count,
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
    const { gateway, process } = this.lives
    if (!gateway) {
      ask.endedAt = time.tick
      ask.disturbed ??= 'nobody listens'
      return ask
    }
    const [outside, inside] = this.world.visit(process)
    runAs(process, () => gateway.accept(inside))
    send(this.world, ask, outside, this.#secret(wish.key))
    return ask
  }

  #secret(key: number): string {
    const found = this.keys[key]
    if (!found) throw new Error(`there is no key ${key}`)
    return found.secret
  }

  /** Which of the vendors an operation means. */
  hostOf({ host }: Operated): string {
    const all = Object.values(hosts)
    return all[host % all.length] as string
  }

  async rotate(key: LiveKey): Promise<void> {
    const isKnown = await this.admin(async storage => {
      const rotated = await rotateKey(storage, key.id, 60_000, 'world', this.world.random)
      if (rotated) key.secret = rotated.secret
    })
    // Committed or not: nobody was told the new secret.
    if (!isKnown) key.lost = true
  }

  async verify(when: string): Promise<void> {
    const { time } = this.world
    await this.admin(async storage => {
      const { problems } = await storage.books.verify()
      for (const problem of problems) this.findings.push({ at: time.tick, when, problem })
    })
  }
}
