import {
  type Awaitable,
  type Clock,
  type Counters,
  CountersDown,
  type LimitRequest,
  type Log,
  type Pending,
  type Random,
  type LimitStatus,
  systemRandom,
  type LimitReservation,
  type Ticket,
  type WhenDown,
  windowMs,
} from '../../../kit/index.ts'
import { MemoryCounters } from '../memory.ts'
import { Breaker } from './breaker.ts'
import { connect, type Link, type Script, script } from './connect.ts'
import { renewScript, turnScript } from './scripts.ts'
import { type Asked, keyOf, prefix, sumKeyOf, Turn, type Used } from './turn.ts'

const turn = script(turnScript)
const renew = script(renewScript)

const probeKey = `${prefix}:probe`
const failuresMax = 3
const probeEveryMs = 250
const renewedAtOnce = 500
/** A start waits a second at most. */
const readyAsksMax = 40
const readyEveryMs = 25
/** This process and the store measure the same minute with two clocks; a second is more than they come apart in it. */
const clocksApartMs = 1_000

export type RedisCountersOptions = {
  readonly url: string
  readonly clock: Clock
  readonly random?: Random
  readonly log: Log
  /** How long places stay taken when their process says no more of them, in milliseconds; 30 s by default. */
  readonly leaseMs?: number
  /** How long one question may take, in milliseconds; 200 by default. */
  readonly commandMs?: number
  /** For tests of long times: stands in for the server's clock. Microseconds. */
  readonly serverTime?: () => number
}

/** A ticket that other processes see too. `member` is undefined of one that was given while they could not be asked. */
type SharedTicket = Ticket & { readonly member: string | undefined }

/**
 * Counters of many processes, in Redis. This process counts beside them what it admits by itself: what fills a limit alone
 * needs no store to be refused, and when the store fails the counts are there, warm, for as long as it takes.
 */
export class RedisCounters implements Counters {
  readonly #link: Link
  readonly #own: MemoryCounters
  readonly #clock: Clock
  readonly #log: Log
  readonly #breaker: Breaker
  readonly #turn: Turn
  readonly #leaseMs: number
  readonly #serverTime: (() => number) | undefined
  readonly #process: string
  /** Places that this process holds in the store, by key and ticket. */
  readonly #held = new Map<string, { readonly key: string; readonly member: string }>()
  readonly #renewing: Pending
  #tickets = 0
  #why = ''

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
    this.#log = log
    this.#leaseMs = leaseMs
    this.#serverTime = serverTime
    this.#own = new MemoryCounters(clock)
    this.#breaker = new Breaker({
      clock,
      probe: () => this.#probe(),
      onChange: isOpen => this.#tell(isOpen),
      failuresMax,
      probeEveryMs,
    })
    this.#link = connect(url, { commandMs, clock }, why => {
      this.#why = why
      this.#breaker.failed()
    })
    this.#turn = new Turn((keys, args, operations) => this.#send(turn, keys, args, operations))
    this.#renewing = clock.every(leaseMs / 3, () => this.#renew())
  }

  /** Waits until the store answers, or is known not to. */
  async ready(): Promise<void> {
    for (let asked = 0; asked < readyAsksMax && !this.#breaker.isOpen; asked++) {
      const isThere = await this.#probe().then(
        () => true,
        () => false,
      )
      if (isThere) return this.#breaker.succeeded()
      await this.#clock.sleep(readyEveryMs)
    }
    this.#breaker.open()
  }

  known(demands: readonly LimitRequest[], whenDown: WhenDown): readonly LimitStatus[] | undefined {
    const own = this.#own.peek(demands)
    if (this.#isFull(demands, own)) return own
    if (!this.#breaker.isOpen) return undefined
    if (whenDown === 'refuse') throw new CountersDown(`the counters do not answer: ${this.#why}`)
    return own
  }

  peek(demands: readonly LimitRequest[], whenDown: WhenDown): Awaitable<readonly LimitStatus[]> {
    const own = this.#own.peek(demands)
    if (this.#isFull(demands, own)) return own
    return this.#ask('peek', '', demands).then(
      ({ standings }) => standings,
      (error: unknown) => {
        if (whenDown === 'refuse') throw new CountersDown('the counters do not answer', { cause: error })
        return own
      },
    )
  }

  take(demands: readonly LimitRequest[], whenDown: WhenDown): Awaitable<LimitReservation> {
    const own = this.#own.peek(demands)
    if (!this.#isFull(demands, own)) return this.#takeShared(demands, whenDown)
    // Requests fill a limit here alone where nobody else has any of it; tokens of others may have to leave besides ours.
    if (demands.every(({ amount }) => amount <= 1)) return { ticket: undefined, standings: own }
    return this.#ask('peek', '', demands).then(
      ({ standings }) => ({ ticket: undefined, standings: standings.map((shared, i) => tighter(own[i], shared)) }),
      () => ({ ticket: undefined, standings: own }),
    )
  }

  settle(ticket: Ticket, amounts: readonly number[]): Awaitable<void> {
    this.#own.settle(ticket, amounts)
    const { member } = ticket as SharedTicket
    if (member === undefined) return
    const changed: Used[] = []
    for (const [i, demand] of ticket.demands.entries()) {
      const amount = amounts[i] ?? demand.amount
      if (demand.kind === 'places') this.#held.delete(`${keyOf(demand)} ${member}`)
      if (demand.kind === 'places' || amount !== demand.amount) changed.push([demand, amount])
    }
    if (changed.length > 0 && !this.#breaker.isOpen) return this.#tellUsed(member, changed)
  }

  healthy(): boolean {
    return !this.#breaker.isOpen
  }

  /** What was to be told is told first, where somebody answers. */
  async close(): Promise<void> {
    this.#renewing.cancel()
    if (!this.#breaker.isOpen) await this.#turn.end()
    this.#breaker.close()
    this.#link.close()
  }

  async #takeShared(demands: readonly LimitRequest[], whenDown: WhenDown): Promise<LimitReservation> {
    const member = `${this.#process}.${(this.#tickets++).toString(36)}`
    // Stamped before it is sent: nothing may stay longer in the counts of this process than in those of all.
    const sentAt = this.#clock.tick()
    try {
      const { taken, standings } = await this.#ask('take', member, demands)
      if (!taken) return { ticket: undefined, standings }
      for (const demand of demands)
        if (demand.kind === 'places') this.#held.set(`${keyOf(demand)} ${member}`, { key: keyOf(demand), member })
      const ticket: SharedTicket = { ...this.#own.record(demands, sentAt), member }
      return { ticket, standings }
    } catch (error) {
      // It may have been taken all the same, by a store that was only slow.
      void this.#tellUsed(
        member,
        demands.map(demand => [demand, 0] as const),
      )
      if (whenDown === 'refuse') throw new CountersDown('the counters do not answer', { cause: error })
      return this.#own.take(demands)
    }
  }

  /** A limit that this process has filled by itself, by far enough that no difference of clocks explains it. */
  #isFull(demands: readonly LimitRequest[], own: readonly LimitStatus[]): boolean {
    return demands.some(({ kind, shadow }, i) => {
      const { waitMs } = own[i] as LimitStatus
      return !shadow && waitMs > (kind === 'places' ? 0 : clocksApartMs)
    })
  }

  #ask(how: 'peek' | 'take', member: string, demands: readonly LimitRequest[]): Promise<Asked> {
    if (this.#breaker.isOpen) return Promise.reject(new Error(`the counters do not answer: ${this.#why}`))
    return this.#turn.ask(how, member, demands)
  }

  /** What cannot be told is forgotten by the store in a minute. */
  async #tellUsed(member: string, used: readonly Used[]): Promise<void> {
    await this.#turn
      .settle(member, used)
      .catch((error: unknown) =>
        this.#log.debug({ error: String(error) }, 'the counters were not told what a request used'),
      )
  }

  #renew(): void {
    if (this.#breaker.isOpen) return
    const held = [...this.#held.values()]
    for (let from = 0; from < held.length; from += renewedAtOnce) {
      const some = held.slice(from, from + renewedAtOnce)
      const keys = some.flatMap(({ key }) => [key, sumKeyOf(key)])
      this.#send(
        renew,
        keys,
        some.map(({ member }) => member),
      ).catch((error: unknown) => this.#log.warn({ error: String(error) }, 'places in flight could not be renewed'))
    }
  }

  /** Counts something nobody asks for: a store that answers and takes no writes, or not ours, cannot be counted in. */
  async #probe(): Promise<void> {
    const now = this.#serverTime?.() ?? ''
    try {
      await this.#link.run(renew, [probeKey, sumKeyOf(probeKey)], [now, windowMs * 1000, this.#leaseMs * 1000, 'probe'])
    } catch (error) {
      this.#why = error instanceof Error ? error.message : String(error)
      throw error
    }
  }

  async #send(
    which: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    operations = 1,
  ): Promise<unknown> {
    const now = this.#serverTime?.() ?? ''
    try {
      const reply = await this.#link.run(which, keys, [now, windowMs * 1000, this.#leaseMs * 1000, ...args])
      this.#breaker.succeeded()
      return reply
    } catch (error) {
      this.#why = error instanceof Error ? error.message : String(error)
      for (let i = 0; i < operations; i++) this.#breaker.failed()
      throw error
    }
  }

  #tell(isOpen: boolean): void {
    if (isOpen) this.#log.error({ why: this.#why }, 'the store of the limits does not answer')
    else {
      this.#log.info({}, 'the store of the limits answers again')
      this.#renew()
    }
  }
}

/** What holds of two counts of one limit. */
function tighter(one: LimitStatus | undefined, other: LimitStatus): LimitStatus {
  if (!one) return other
  return {
    remaining: Math.min(one.remaining, other.remaining),
    waitMs: Math.max(one.waitMs, other.waitMs),
    resetMs: Math.max(one.resetMs, other.resetMs),
  }
}
