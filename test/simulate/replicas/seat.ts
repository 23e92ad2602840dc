import { createGateway, type Gateway } from '../../../src/index.ts'
import { endGateway } from '../world/end-gateway.ts'
import { Process, runAs } from '../world/process.ts'
import type { World } from '../world/world.ts'
import type { Logged } from '../play/life.ts'
import { configuration, environment, plainSettings, type Settings } from '../play/settings.ts'
import { Versions } from '../play/versions.ts'
import type { Stores } from './stores.ts'

export type Policy = 'local' | 'refuse'

/** The configuration of every gateway: that of a single gateway, with the setting for an unreachable Redis. */
export function configurationOf(policy: Policy, settings: Settings): string {
  const text = configuration(settings)
  const next = text.replace('[auth, ratelimit,', `[auth, { ratelimit: { on_store_failure: ${policy} } },`)
  if (next === text) throw new Error('gateway.yaml has no such pipeline any more')
  return next
}

/** Log messages of gateways about failing servers; the oracle `faultless` judges all others. */
const expected: ReadonlySet<string> = new Set([
  'this gateway was silent for longer than its lease; its open charges were ended',
  'the counter store does not respond',
])

type SeatParts = {
  readonly world: World
  readonly stores: Stores
  readonly policy: Policy
  readonly skewMs: number
  /** All errors in the gateways' logs, and the times at which one of them was killed. */
  readonly errors: Logged[]
  readonly crashes: number[]
}

/** A seat in which gateways run one after the other. */
export class Seat {
  readonly no: number
  gateway: Gateway | undefined
  process: Process
  /** The error of its machine's clock. */
  skewMs: number
  /** Versions of the file on its machine. */
  readonly versions: Versions
  /** The world's time until which failures at it are excused; and why. */
  disturbedUntil = 0
  why = ''
  #count = 0
  readonly #world: World
  readonly #stores: Stores
  readonly #policy: Policy
  readonly #errors: Logged[]
  readonly #crashes: number[]

  constructor(no: number, parts: SeatParts) {
    this.no = no
    this.#world = parts.world
    this.#stores = parts.stores
    this.#policy = parts.policy
    this.#errors = parts.errors
    this.#crashes = parts.crashes
    this.skewMs = parts.skewMs
    this.versions = new Versions(() => parts.world.time.tick, plainSettings)
    this.process = new Process(`gateway ${no}.0`)
  }

  get isFrozen(): boolean {
    return this.process.frozen
  }

  /** Starts a gateway, if the servers allow it. @returns false when it was refused */
  async begin(): Promise<boolean> {
    this.process = new Process(`gateway ${this.no}.${this.#count++}`)
    this.process.skewMs = this.skewMs
    try {
      this.gateway = await this.#world.time.runFor(
        runAs(this.process, () => this.#create()),
        120_000,
      )
      this.versions.take()
      return true
    } catch (error) {
      this.#world.mark('start refused')
      this.process.crash()
      if (error instanceof Error && !/storage|database|connect|planted/i.test(error.message)) throw error
      return false
    }
  }

  /** Writes another configuration to its machine, and reloads it. @returns false when no gateway reads it now */
  async configure(settings: Settings): Promise<boolean> {
    this.versions.save(settings)
    const { gateway } = this
    if (!gateway || this.isFrozen) return false
    const { ok } = await this.#world.time.runFor(
      runAs(this.process, () => gateway.reload()),
      120_000,
    )
    if (ok) this.versions.take()
    return ok
  }

  /** Lets requests finish, as SIGTERM does. */
  async end(): Promise<void> {
    const { gateway } = this
    this.gateway = undefined
    if (gateway)
      await this.#world.time.runFor(
        runAs(this.process, () => endGateway(gateway)),
        3_600_000,
      )
  }

  kill(): void {
    // Charges that were not acknowledged and not yet written are lost: the README states this.
    this.#crashes.push(this.#world.time.tick)
    this.gateway = undefined
    this.process.crash()
  }

  #create(): Promise<Gateway> {
    const { clock, random, time } = this.#world
    const { process } = this
    const text = (): string => configurationOf(this.#policy, this.versions.settings)
    return createGateway(
      {
        // Read again at each reload.
        get text() {
          return text()
        },
        file: 'simulated.yaml',
      },
      {
        env: {
          ...environment,
          TOLLGATE_STORAGE: this.#stores.postgresUrl,
          TOLLGATE_COUNTERS: this.#stores.redisUrl,
        },
        log: this.#log(),
        clock: { ...clock, now: () => Math.floor(time.wall + process.skewMs) },
        random,
        connect: this.#world.connect,
      },
    )
  }

  #log() {
    const nothing = (): void => undefined
    const error = (facts: object, text: string): void => {
      if (expected.has(text)) this.#world.mark(`said: ${text}`)
      else this.#errors.push({ at: this.#world.time.tick, text, facts: `gateway ${this.no}: ${describe(facts)}` })
    }
    const flush = (): Promise<void> => Promise.resolve()
    return { debug: nothing, info: nothing, warn: nothing, error, request: nothing, hide: nothing, flush }
  }
}

function describe(facts: object): string {
  const shown = Object.entries(facts).map(([name, value]) =>
    value instanceof Error ? `${name}: ${value.stack ?? value.message}` : `${name}: ${String(value)}`,
  )
  return shown.join('; ').slice(0, 600)
}
