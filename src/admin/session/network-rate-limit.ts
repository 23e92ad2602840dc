import type { Counters, LimitRequest, LimitStatus } from '../../domain/index.ts'
import { failToWait } from '../errors.ts'

const attempt = 1

/** Limits the attempts of a network per minute, over all processes that share the counters. */
export class NetworkRateLimit {
  readonly #counters: AttemptCounters
  readonly #networkOf: (address: string) => string
  readonly #what: string
  readonly #most: number

  constructor(counters: AttemptCounters, networkOf: (address: string) => string, what: string, most: number) {
    this.#counters = counters
    this.#networkOf = networkOf
    this.#what = what
    this.#most = most
  }

  /** @returns a function that cancels the attempt. @throws Failure slow_down */
  async begin(address: string): Promise<() => void> {
    const { ticket, standings } = await this.#counters.take([this.#demandOf(address)], 'local')
    if (!ticket) throw failToWait('slow_down', waitOf(standings))
    return () => void this.#counters.settle(ticket, [0])
  }

  /** Checks without counting an attempt. @throws Failure slow_down */
  async refuseFull(address: string): Promise<void> {
    const waitMs = waitOf(await this.#counters.peek([this.#demandOf(address)], 'local'))
    if (waitMs > 0) throw failToWait('slow_down', waitMs)
  }

  #demandOf(address: string): LimitRequest {
    const owner = `network ${this.#networkOf(address)}`
    return { id: `${this.#what} ${owner}`, owner, kind: 'window', limit: this.#most, amount: attempt, shadow: false }
  }
}

export type AttemptCounters = Pick<Counters, 'take' | 'peek' | 'settle'>

function waitOf(standings: readonly LimitStatus[]): number {
  return standings[0]?.waitMs ?? 0
}
