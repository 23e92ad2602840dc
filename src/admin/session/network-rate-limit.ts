import type { Times } from '../../util/index.ts'
import { failToWait } from '../errors.ts'

const windowMs = 60_000
/** The maximum number of networks in memory. */
const rememberedMax = 10_000

/** Limits the requests of a network per minute, for actions that cause small costs for others. */
export class NetworkRateLimit {
  readonly #clock: Times
  readonly #networkOf: (address: string) => string
  readonly #most: number
  readonly #begun = new Map<string, number[]>()

  constructor(clock: Times, networkOf: (address: string) => string, most: number) {
    this.#clock = clock
    this.#networkOf = networkOf
    this.#most = most
  }

  /** @throws Failure slow_down */
  begin(address: string): void {
    const network = this.#networkOf(address)
    const now = this.#clock.tick()
    const recent = (this.#begun.get(network) ?? []).filter(at => now - at < windowMs)
    if (recent.length >= this.#most) throw failToWait('slow_down', (recent[0] ?? now) + windowMs - now)
    this.#begun.delete(network)
    this.#begun.set(network, [...recent, now])
    if (this.#begun.size <= rememberedMax) return
    const [oldest] = this.#begun.keys()
    if (oldest !== undefined) this.#begun.delete(oldest)
  }
}
