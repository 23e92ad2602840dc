import { inspect } from 'node:util'
import type { Gateway } from '../../../src/index.ts'
import { createGateway } from '../../../src/index.ts'
import { endGateway } from '../world/end-gateway.ts'
import { Process, runAs } from '../world/process.ts'
import { type Damage, endPower } from '../world/power.ts'
import { type Acknowledged, createThreads } from '../world/threads.ts'
import type { World } from '../world/world.ts'
import { configuration, environment, type Settings } from './settings.ts'
import { Versions } from './versions.ts'

/** An error in the gateway's log. */
export type Logged = { readonly at: number; readonly text: string; readonly facts: string }

/**
 * The gateway's lives, in sequence: each is a process of the world on the database that the previous one left, whether
 * it was closed or crashed.
 */
export class Lives {
  /** The running gateway; undefined between two lives. */
  gateway: Gateway | undefined
  process: Process
  /** The number of lives so far. */
  count = 0
  path: string
  readonly errors: Logged[] = []
  /** The times of the crashes. */
  readonly crashes: number[] = []
  /** The effect of each crash and power loss on the database. */
  readonly damages: Damage[] = []
  readonly #world: World
  readonly #folder: string
  readonly #acknowledged: Acknowledged = { untold: 0 }
  readonly versions: Versions
  readonly plain: Settings

  /** `plain` are the settings at the beginning and at the end. */
  constructor(world: World, folder: string, plain: Settings) {
    this.#world = world
    this.#folder = folder
    this.path = `${folder}/0.db`
    world.disk.watch(this.path)
    this.process = new Process('gateway 0')
    this.plain = plain
    this.versions = new Versions(() => world.time.tick, plain)
  }

  get settings(): Settings {
    return this.versions.settings
  }

  /** @throws Error the reason, if it does not start within minutes of retries */
  async begin(): Promise<void> {
    for (let tries = 0; ; tries++) {
      this.process = new Process(`gateway ${this.count}`)
      try {
        this.gateway = await this.#world.time.runFor(
          runAs(this.process, () => this.#create()),
          120_000,
        )
        this.versions.take()
        return
      } catch (error) {
        if (tries === 40) throw error
        this.#world.mark('start refused, tried again')
        this.process.crash()
        await this.#world.time.pass(5_000)
      }
    }
  }

  /** Lets requests finish, as SIGTERM does. */
  async end(): Promise<void> {
    const { gateway } = this
    if (!gateway) return
    this.gateway = undefined
    await this.#world.time.runFor(
      runAs(this.process, () => endGateway(gateway)),
      3_600_000,
    )
    this.count++
  }

  /** Whether a commit exists that no client knows of yet. */
  get isUntold(): boolean {
    return this.#acknowledged.untold > 0
  }

  /** Crashes the process or cuts the power: only the content of the disk remains. */
  crash(): void {
    this.gateway = undefined
    this.crashes.push(this.#world.time.tick)
    this.process.crash()
    this.count++
    const next = `${this.#folder}/${this.count}.db`
    const { disk, power } = this.#world
    const damage = endPower(disk, this.path, next, power.chance(0.6) ? 'power' : 'killed', power)
    this.damages.push(damage)
    const stake = damage.open > 0 ? 'something was not synced' : 'everything was synced'
    this.#world.mark(damage.how === 'killed' ? 'fault: killed' : `fault: power lost, ${stake}`)
    this.path = next
    disk.watch(next)
    this.#acknowledged.untold = 0
  }

  #create(): Promise<Gateway> {
    const { time } = this.#world
    const { clock, connect, disk, random } = this.#world
    const note = (fault: string): void => this.#world.mark(`fault: ${fault}`)
    const text = (): string => configuration(this.settings)
    return createGateway(
      {
        // Read again at each reload.
        get text() {
          return text()
        },
        file: 'simulated.yaml',
      },
      {
        env: { ...environment, TOLLGATE_STORAGE: `sqlite:${this.path}` },
        log: this.#log(),
        clock,
        random,
        connect,
        startThread: createThreads({ time, random, disk, note }, this.path, this.#acknowledged),
      },
    )
  }

  #log() {
    const nothing = (): void => undefined
    const error = (facts: object, text: string): void => {
      this.errors.push({ at: this.#world.time.tick, text, facts: describe(facts) })
    }
    const flush = (): Promise<void> => Promise.resolve()
    return { debug: nothing, info: nothing, warn: nothing, error, request: nothing, hide: nothing, flush }
  }
}

function describe(facts: object): string {
  const shown = Object.entries(facts).map(([name, value]) =>
    value instanceof Error
      ? `${name}: ${value.stack ?? value.message}`
      : `${name}: ${typeof value === 'object' ? inspect(value, { breakLength: Infinity }) : String(value)}`,
  )
  return shown.join('; ').slice(0, 600)
}
