import {
  type Counters,
  CountersDown,
  type LimitRequest,
  type LimitReservation,
  type LimitStatus,
  type SharedTexts,
  type Ticket,
  type WhenDown,
} from '../../../domain/index.ts'
import type { Log } from '../../../plugin-api/index.ts'
import { type Awaitable, type Clock, type Pending, type Random, systemRandom } from '../../../util/index.ts'
import { MemoryCounters } from '../memory.ts'
import { giveBack, merged, takeFromSlots, untake } from './take-from-slots.ts'
import { Leases } from './leases.ts'
import type { Part } from './slots.ts'
import { Store } from './store.ts'
import type { Used } from './turn.ts'

/**
 * This process and the store measure the same minute with two clocks, which differ by less than a second in that time.
 */
const clocksApartMs = 1_000
const noStatuses: readonly LimitStatus[] = []

export type RedisCountersOptions = {
  readonly url: string
  readonly clock: Clock
  readonly random?: Random
  readonly log: Log
  /** How long slots stay taken when their process does not renew them, in milliseconds; 30 s by default. */
  readonly leaseMs?: number
  /** The longest time of one call, in milliseconds; 200 by default. */
  readonly commandMs?: number
  /** Replaces the server's clock, for tests of long times. In microseconds. */
  readonly serverTime?: () => number
}

/** A ticket that other processes know too. `member` is undefined if it was issued without the store. */
type SharedTicket = Ticket & { readonly member: string | undefined }

/**
 * Counters of many processes, in Redis. This process also counts the requests that it admits itself: it refuses
 * requests of a limit that it fills alone without a call to the store, and if the store fails, it uses these counts
 * until the store is back.
 */
export class RedisCounters implements Counters {
  readonly #store: Store
  readonly #own: MemoryCounters
  readonly #clock: Clock
  readonly #leases: Leases
  readonly #process: string
  readonly #renewing: Pending
  #tickets = 0

  constructor({
    url,
    clock,
    random = systemRandom,
    log,
    leaseMs = 30_000,
    commandMs = 200,
    serverTime,
  }: RedisCountersOptions) {
    this.#process = random.bytes(9).toString('base64url')
    this.#clock = clock
    this.#own = new MemoryCounters(clock)
    const onBack = (): void => this.#leases.renew()
    this.#store = new Store({ url, clock, log, leaseMs, commandMs, serverTime, onBack })
    this.#leases = new Leases(this.#store)
    this.#renewing = clock.every(leaseMs / 3, () => this.#leases.renew())
  }

  get texts(): SharedTexts {
    return this.#store.texts
  }

  /** Waits until the store answers, or is known to be unavailable. */
  ready(): Promise<void> {
    return this.#store.ready()
  }

  known(demands: readonly LimitRequest[], whenDown: WhenDown): readonly LimitStatus[] | undefined {
    const own = this.#own.peek(demands)
    if (this.#isFull(demands, own)) return own
    if (this.#store.healthy()) return undefined
    const away = demands.filter(demand => this.#store.isAway(this.#store.tagOf(demand)))
    const [first] = away
    if (!first) return undefined
    if (whenDown === 'refuse')
      throw new CountersDown(`the counters do not answer: ${this.#store.whyAway(this.#store.tagOf(first))}`)
    return away.length === demands.length ? own : undefined
  }

  peek(demands: readonly LimitRequest[], whenDown: WhenDown): Awaitable<readonly LimitStatus[]> {
    const own = this.#own.peek(demands)
    return this.#isFull(demands, own) ? own : this.#store.look(demands, own, whenDown)
  }

  take(demands: readonly LimitRequest[], whenDown: WhenDown): Awaitable<LimitReservation> {
    const own = this.#own.peek(demands)
    if (!this.#isFull(demands, own)) return this.#takeShared(demands, whenDown)
    // If this process alone fills a limit of requests, no other process has any of it, so its own status is exact; for
    // tokens, those of other processes may have to leave the window too.
    if (demands.every(({ amount }) => amount <= 1)) return { ticket: undefined, standings: own }
    return this.#store
      .look(demands, own, 'local')
      .then(shared => ({ ticket: undefined, standings: shared.map((one, i) => tighter(own[i], one)) }))
  }

  settle(ticket: Ticket, amounts: readonly number[]): Awaitable<void> {
    this.#own.settle(ticket, amounts)
    const { member } = ticket as SharedTicket
    if (member === undefined) return
    const changed: Used[] = []
    for (const [i, demand] of ticket.demands.entries()) {
      const amount = amounts[i] ?? demand.amount
      if (demand.kind === 'places') this.#leases.end(demand, member)
      else if (amount === demand.amount) continue
      if (!this.#store.isAway(this.#store.tagOf(demand))) changed.push([demand, amount])
    }
    if (changed.length > 0) return this.#store.settle(member, changed)
  }

  healthy(): boolean {
    return this.#store.healthy()
  }

  async close(): Promise<void> {
    this.#renewing.cancel()
    await this.#store.close()
  }

  async #takeShared(demands: readonly LimitRequest[], whenDown: WhenDown): Promise<LimitReservation> {
    const member = `${this.#process}.${(this.#tickets++).toString(36)}`
    // Stamped before the call: nothing may stay longer in the counts of this process than in the shared ones.
    const sentAt = this.#clock.tick()
    const parts = this.#store.partsOf(demands)
    if (parts.length > 1) return this.#takeFromSlots(parts, demands, { member, sentAt, whenDown })
    try {
      const { taken, statuses } = await this.#store.ask(parts[0].tag, 'take', member, demands)
      return {
        ticket: taken ? this.#shared(this.#own.record(demands, sentAt), member) : undefined,
        standings: statuses,
      }
    } catch (error) {
      untake(this.#store, demands, member, error)
      if (whenDown === 'refuse') throw new CountersDown('the counters do not answer', { cause: error })
      return this.#own.take(demands)
    }
  }

  /** For counters in several Redis slots: if one refuses, returns the taken amounts to the others. */
  async #takeFromSlots(
    parts: readonly [Part, ...Part[]],
    demands: readonly LimitRequest[],
    { member, sentAt, whenDown }: { readonly member: string; readonly sentAt: number; readonly whenDown: WhenDown },
  ): Promise<LimitReservation> {
    const answers = await takeFromSlots(this.#store, parts, member)
    const withdraw = (): Promise<readonly LimitStatus[]> =>
      giveBack(this.#store, parts, answers, member, this.#own.peek(demands))
    if (answers.some(({ kind }) => kind === 'full')) return { ticket: undefined, standings: await withdraw() }
    const away = answers.find(answer => answer.kind === 'away')
    if (away && whenDown === 'refuse') {
      await withdraw()
      throw new CountersDown('the counters do not answer', { cause: away.error })
    }
    if (!away) {
      const ticket = this.#shared(this.#own.record(demands, sentAt), member)
      return { ticket, standings: merged(noStatuses, parts, answers) }
    }
    // This process counts unavailable limits by itself, in the same step as the others.
    const { ticket, standings: own } = this.#own.take(demands)
    if (!ticket) {
      await withdraw()
      return { ticket, standings: own }
    }
    return { ticket: this.#shared(ticket, member), standings: merged(own, parts, answers) }
  }

  /** Holds the slots that are already counted here; a store that was unavailable gets them when it is back. */
  #shared(own: Ticket, member: string): SharedTicket {
    for (const demand of own.demands) if (demand.kind === 'places') this.#leases.hold(demand, member)
    return { ...own, member }
  }

  /** Whether this process has filled a limit by itself, beyond any difference of clocks. */
  #isFull(demands: readonly LimitRequest[], own: readonly LimitStatus[]): boolean {
    return demands.some(({ kind, shadow }, i) => {
      const { waitMs } = own[i] as LimitStatus
      return !shadow && waitMs > (kind === 'places' ? 0 : clocksApartMs)
    })
  }
}

/** The tighter of two counts of one limit. */
function tighter(one: LimitStatus | undefined, other: LimitStatus): LimitStatus {
  if (!one) return other
  return {
    remaining: Math.min(one.remaining, other.remaining),
    waitMs: Math.max(one.waitMs, other.waitMs),
    resetMs: Math.max(one.resetMs, other.resetMs),
  }
}
