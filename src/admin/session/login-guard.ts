import type { Times } from '../../util/index.ts'
import { failToWait } from '../errors.ts'

const windowMs = 60_000
const attemptsMax = 20
const firstDelayMs = 1_000
const longestDelayMs = 60_000
/** After this time without a failure, all failures of an account are forgotten. */
const forgetMs = 15 * 60_000
/** The maximum number of accounts and addresses in memory. */
const rememberedMax = 10_000

type Strikes = { count: number; until: number }

/**
 * Slows down guesses of passwords: each failure doubles the wait of an account from an address, and of an address in
 * total. An attempt counts as failed from its start, so that simultaneous attempts cannot bypass this.
 */
export class LoginGuard {
  readonly #clock: Times
  readonly #networkOf: (address: string) => string
  readonly #strikes = new Map<string, Strikes>()
  readonly #attempts = new Map<string, number[]>()

  constructor(clock: Times, networkOf: (address: string) => string) {
    this.#clock = clock
    this.#networkOf = networkOf
  }

  /** Checks without counting an attempt. @throws Failure slow_down if an attempt would be refused now */
  refuseWaiting(account: string, address: string): void {
    const { full, strikes, now } = this.#look(account, this.#networkOf(address))
    refuseWait(full, strikes, now)
  }

  #look(account: string, remote: string) {
    const now = this.#clock.tick()
    const recent = (this.#attempts.get(remote) ?? []).filter(at => now - at < windowMs)
    const key = `${account}\n${remote}`
    const known = this.#strikes.get(key)
    const strikes = known && now - known.until < forgetMs ? known : { count: 0, until: 0 }
    const full = recent.length >= attemptsMax ? (recent[0] ?? now) + windowMs - now : 0
    return { now, recent, key, strikes, full }
  }

  /** @returns a function that cancels the attempt, for one that succeeded or was none. @throws Failure slow_down */
  begin(account: string, address: string): () => void {
    const remote = this.#networkOf(address)
    const { now, recent, key, strikes, full } = this.#look(account, remote)
    refuseWait(full, strikes, now)
    const before = { ...strikes }
    strikes.count++
    strikes.until = now + Math.min(firstDelayMs * 2 ** (strikes.count - 1), longestDelayMs)
    remember(this.#strikes, key, strikes)
    remember(this.#attempts, remote, [...recent, now])
    return () => {
      if (before.count === 0) this.#strikes.delete(key)
      else this.#strikes.set(key, before)
      const kept = this.#attempts.get(remote) ?? []
      const at = kept.indexOf(now)
      if (at >= 0) kept.splice(at, 1)
    }
  }

  /** Also ends the account's own delay, because its password was right. */
  forgive(account: string, address: string): void {
    this.#strikes.delete(`${account}\n${this.#networkOf(address)}`)
  }
}

function refuseWait(full: number, strikes: Strikes, now: number): void {
  const waitMs = Math.max(full, strikes.count > 0 ? strikes.until - now : 0)
  if (waitMs > 0) throw failToWait('slow_down', waitMs)
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= rememberedMax) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
