import {
  callerSlot,
  definePlugin,
  defineSlot,
  type Exchange,
  type Failure,
  type Host,
  isPromise,
} from '../../src/kit/index.ts'
import type { Counters, Standing, Taking, Ticket } from './counters.ts'
import { fail } from './errors.ts'
import { type Limit, modelLimits, userLimits } from './limits.ts'
import { MemoryCounters } from './memory-counters.ts'
import { optionsSchema } from './schema.ts'

/** Longer waits are not sat out: some SDKs ignore such a Retry-After and come back at once. */
const patienceMs = 60_000

const ticketSlot = defineSlot<Ticket>('ratelimit.ticket')

/** Requests per minute of a key, of a user and of a model (requirement 8). */
export const ratelimit = definePlugin({
  name: 'ratelimit',
  options: optionsSchema,
  needs: [callerSlot],
  create(_options, host) {
    const counters = openCounters(host)

    /** Tells the caller where the tightest of the limits stands. */
    function publish(ex: Exchange, limits: readonly Limit[], standings: readonly Standing[]): void {
      const at = tightest(standings)
      const { limit } = limits[at] as Limit
      const { remaining, resetMs } = standings[at] as Standing
      ex.limits = [{ kind: 'requests', limit, remaining, resetMs }]
    }

    /** @throws Failure rate_limit_exceeded */
    function look(ex: Exchange, limits: readonly Limit[], standings: readonly Standing[]): void {
      publish(ex, limits, standings)
      if (standings.some(standing => standing.waitMs > 0)) throw refusal(limits, standings)
    }

    /** @throws Failure rate_limit_exceeded */
    function enter(ex: Exchange, limits: readonly Limit[], { ticket, standings }: Taking): undefined {
      publish(ex, limits, standings)
      if (!ticket) throw refusal(limits, standings)
      ex.slots.put(ticketSlot, ticket)
    }

    return {
      // Before the body is read: a key that has used up its minute does not get to upload 32 MiB.
      onRequest(ex) {
        if (ex.route.serve !== undefined) return
        const limits = userLimits(ex.slots.need(callerSlot))
        if (limits.length === 0) return
        const standings = counters.peek(limits)
        return isPromise(standings) ? standings.then(all => look(ex, limits, all)) : look(ex, limits, standings)
      },
      onAdmit(ex, target) {
        const caller = ex.slots.need(callerSlot)
        const limits = [...userLimits(caller), ...modelLimits(target.model, caller)]
        if (limits.length === 0) return undefined
        const taking = counters.take(limits)
        return isPromise(taking) ? taking.then(done => enter(ex, limits, done)) : enter(ex, limits, taking)
      },
      // Refused by whomever before the upstream was touched: the request consumes nothing (decision 23).
      onSettle(ex, outcome) {
        const ticket = ex.slots.get(ticketSlot)
        if (ticket && outcome.kind === 'refused' && outcome.reach === 'untouched') return counters.giveBack(ticket)
      },
    }
  },
})

/** The counters named by the plan; they outlive a reload, or every reload would grant everybody a fresh minute. */
function openCounters(host: Host): Counters {
  const kind = host.plan.counters.split(':', 1)[0]
  if (kind !== 'memory') throw new Error(`counters '${kind}:' are not known to ratelimit; 'memory:' is`)
  return host.keep('counters', () => new MemoryCounters(host.clock))
}

/** The index of the limit with the least left; of several the one that takes longest to be free again. */
function tightest(standings: readonly Standing[]): number {
  return indexOfMost(standings, (a, b) => b.remaining - a.remaining || a.resetMs - b.resetMs)
}

function refusal(limits: readonly Limit[], standings: readonly Standing[]): Failure {
  // Of several full limits the slowest is named: before it has room, the others do not matter.
  const at = indexOfMost(standings, (a, b) => a.waitMs - b.waitMs)
  const { name, limit } = limits[at] as Limit
  const { waitMs } = standings[at] as Standing
  const headers: { [name: string]: string } = { 'x-ratelimit-scope': name }
  if (waitMs > patienceMs) headers['x-should-retry'] = 'false'
  return fail(
    'rate_limit_exceeded',
    { limit: name, max: limit, seconds: Math.ceil(waitMs / 1000) },
    { retryAfterMs: waitMs, headers },
  )
}

/** The index of the element that comes out above all others; the first of equals. */
function indexOfMost(standings: readonly Standing[], compare: (a: Standing, b: Standing) => number): number {
  let most = 0
  for (let i = 1; i < standings.length; i++)
    if (compare(standings[i] as Standing, standings[most] as Standing) > 0) most = i
  return most
}
