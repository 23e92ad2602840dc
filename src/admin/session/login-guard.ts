import type { Awaitable, Times } from '../../util/index.ts'
import { failToWait } from '../errors.ts'
import type { NetworkRateLimit } from './network-rate-limit.ts'

const firstDelayMs = 1_000
const longestDelayMs = 60_000
/** After this time without a failure, all failures of an account are forgotten. */
const forgetMs = 15 * 60_000
/** The maximum number of accounts and addresses in memory. */
const rememberedMax = 10_000

type Strikes = { count: number; until: number }

/**
 * Slows down guesses of passwords: each failure doubles the wait of an account from an address in this process, and the
 * attempts of an address are limited in all processes. An attempt counts as failed from its start, so that simultaneous
 * attempts cannot bypass this.
 */
export class LoginGuard {
  readonly #clock: Times
  readonly #networkOf: (address: string) => string
  readonly #attempts: NetworkRateLimit
  readonly #strikes = new Map<string, Strikes>()

  constructor(clock: Times, networkOf: (address: string) => string, attempts: NetworkRateLimit) {
    this.#clock = clock
    this.#networkOf = networkOf
    this.#attempts = attempts
  }

  /** Checks without counting an attempt. @throws Failure slow_down if an attempt would be refused now */
  async refuseWaiting(account: string, address: string): Promise<void> {
    this.#look(account, address)
    await this.#attempts.refuseFull(address)
  }

  /** @throws Failure slow_down */
  #look(account: string, address: string) {
    const now = this.#clock.tick()
    const key = `${account}\n${this.#networkOf(address)}`
    const known = this.#strikes.get(key)
    const strikes = known && now - known.until < forgetMs ? known : { count: 0, until: 0 }
    if (strikes.count > 0 && strikes.until > now) throw failToWait('slow_down', strikes.until - now)
    return { now, key, strikes }
  }

  /**
   * Runs an attempt, which counts only if its result is undefined: one whose check could not run was none.
   * @throws Failure slow_down, or the error of the check
   */
  async attempt<T>(account: string, address: string, check: () => Awaitable<T | undefined>): Promise<T | undefined> {
    const cancel = await this.#begin(account, address)
    try {
      const found = await check()
      if (found !== undefined) cancel()
      return found
    } catch (error) {
      cancel()
      throw error
    }
  }

  /** @returns a function that cancels the attempt. @throws Failure slow_down */
  async #begin(account: string, address: string): Promise<() => void> {
    const { now, key, strikes } = this.#look(account, address)
    const before = { ...strikes }
    strikes.count++
    strikes.until = now + Math.min(firstDelayMs * 2 ** (strikes.count - 1), longestDelayMs)
    this.#remember(key, strikes)
    const cancelStrike = (): void => {
      if (before.count === 0) this.#strikes.delete(key)
      else this.#strikes.set(key, before)
    }
    try {
      const cancel = await this.#attempts.begin(address)
      return () => {
        cancelStrike()
        cancel()
      }
    } catch (error) {
      cancelStrike()
      throw error
    }
  }

  /** Also ends the account's own delay, because its password was right. */
  forgive(account: string, address: string): void {
    this.#strikes.delete(`${account}\n${this.#networkOf(address)}`)
  }

  #remember(key: string, strikes: Strikes): void {
    this.#strikes.delete(key)
    this.#strikes.set(key, strikes)
    if (this.#strikes.size <= rememberedMax) return
    const [oldest] = this.#strikes.keys()
    if (oldest !== undefined) this.#strikes.delete(oldest)
  }
}
