import type { Counters, LimitRequest } from '../../domain/index.ts'
import type { RequestContext } from '../../plugin-api/index.ts'
import { fail } from '../errors.ts'

/** `retry-after` for a key with too many open sessions. */
const limitMs = 1_000
const oneSession = 1

/** Counts the open sessions of each key, over all processes that share counters. */
export class SessionSlots {
  readonly #counters: Pick<Counters, 'take' | 'settle'> | undefined

  constructor(counters: Pick<Counters, 'take' | 'settle'> | undefined) {
    this.#counters = counters
  }

  /** @returns a function that frees the slot once. @throws Failure session_limit */
  async take({ payer, route }: Pick<RequestContext, 'payer' | 'route'>): Promise<() => void> {
    const max = route.session?.perKeyMax
    const counters = this.#counters
    if (max === undefined || !counters) return () => undefined
    const id = `sessions key ${payer}`
    const slot: LimitRequest = { id, owner: id, kind: 'places', limit: max, amount: oneSession, shadow: false }
    const { ticket } = await counters.take([slot], 'local')
    if (!ticket) throw fail('session_limit', { max }, { retryAfterMs: limitMs })
    let isFree = false
    return () => {
      if (!isFree) void counters.settle(ticket, [0])
      isFree = true
    }
  }
}
