import {
  attributionSlot,
  type Awaitable,
  callerSlot,
  type Counters,
  CountersDown,
  definePlugin,
  defineSlot,
  detachedJobSlot,
  type RequestContext,
  type Head,
  andThen,
  isPromise,
  type Outcome,
  type LimitStatus,
  type LimitReservation,
  type Target,
  type Ticket,
  type TokenUse,
  tokenUseSlot,
  type WhenDown,
} from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import { decisions, limitStates } from './limit-states.ts'
import { endUserLimits, jobsLimit, type Limit, modelLimits, upstreamLimit, userLimits } from './limits.ts'
import { refuseFull } from './open-jobs.ts'
import { refusal, refuses } from './refusal.ts'
import { RunningTokens } from './running-tokens.ts'
import { optionsSchema } from './schema.ts'
import { ShadowLog } from './shadow-log.ts'

const unavailableMs = 1_000
/** The bytes that a client on a slow line (10 Mbit/s) sends in some 50 ms. */
const shortBodyBytes = 65_536

/** The limits that one exchange has taken. */
type Taken = {
  readonly limits: readonly Limit[]
  readonly ticket: Ticket | undefined
  /** The slot at the upstream that is being tried. */
  place: { readonly upstream: string; readonly ticket: Ticket } | undefined
  /** Functions that end its token reservations. */
  readonly tokens?: readonly ((used: number) => void)[]
}

const takenSlot = defineSlot<Taken>('ratelimit.taken')

/**
 * Requests and tokens per minute, and requests at once, of keys, users, models and upstreams (`docs/rules.md#limits`).
 */
export const ratelimit = definePlugin({
  name: 'ratelimit',
  limits: true,
  options: optionsSchema,
  needs: [callerSlot],
  create({ on_store_failure: whenDown }, host) {
    const { counters } = host.stores
    const shadows = host.keep('shadows', () => new ShadowLog(host.clock, host.log))
    const running = host.keep('running', () => new RunningTokens(host.clock))

    /** Takes all limits of the request and the slot at the first upstream in one step. */
    function admit(context: RequestContext, target: Target, limits: readonly Limit[], place: Limit | undefined) {
      const all = place ? [...limits, place] : limits
      // Also without limits: slots at the upstreams of fallbacks have to be found again.
      if (all.length === 0) return void takenBy(context)
      return then(counters.take(all, whenDown), taking => enter(context, target, limits, place, taking))
    }

    /** @throws Failure rate_limit_exceeded */
    function enter(
      context: RequestContext,
      target: Target,
      limits: readonly Limit[],
      place: Limit | undefined,
      { ticket, standings }: LimitReservation,
    ): Awaitable<undefined> {
      context.limits = limitStates(limits, standings)
      const all = place ? [...limits, place] : limits
      context.notes.limits = decisions(all, standings, ticket !== undefined)
      if (ticket) {
        shadows.note(all, standings)
        context.slots.put(takenSlot, {
          limits,
          ticket: place ? { ...ticket, demands: limits } : ticket,
          place: place && { upstream: target.upstream.name, ticket: { ...ticket, demands: [place] } },
          tokens: running.reserve(limits),
        })
        return undefined
      }
      const others = limits.some((limit, i) => refuses(limit, standings[i] as LimitStatus))
      // Only the first upstream is full: `onForward` tries the next, or that of a fallback.
      const hasNext = target.model.upstreams.length > 1 || target.fallbacks !== undefined
      if (place && !others && hasNext) return admit(context, target, limits, undefined)
      throw refusal(all, running.expected(all, standings))
    }

    /** Takes a slot at the next upstream. @throws Failure rate_limit_exceeded, which leads to the one after it */
    function enterNext<T>(context: RequestContext, place: Limit, { ticket, standings }: LimitReservation, out: T): T {
      context.notes.limits = [...(context.notes.limits ?? []), ...decisions([place], standings, ticket !== undefined)]
      if (!ticket) throw refusal([place], standings)
      shadows.note([place], standings)
      takenBy(context).place = { upstream: place.of, ticket }
      return out
    }

    function settle(context: RequestContext, outcome: Outcome, taken: Taken): Awaitable<void> {
      const { limits, ticket, place } = taken
      // If the request was refused before the upstream got any of it, for any reason, it consumes nothing
      // (`docs/rules.md#limits`).
      const isVoid = outcome.kind === 'refused' && outcome.reach === 'untouched'
      const tokens = isVoid ? undefined : context.slots.get(tokenUseSlot)
      const amounts = limits.map(limit => (isVoid ? 0 : usedOf(limit, tokens, outcome)))
      for (const end of taken.tokens ?? []) end(tokens?.actual(outcome) ?? 0)
      const left = place && counters.settle(place.ticket, [0])
      const settled = ticket && counters.settle(ticket, amounts)
      if ((left && isPromise(left)) || (settled && isPromise(settled)))
        return Promise.all([left, settled]).then(() => undefined)
    }

    return {
      // Runs before the body is read: a key that has used up its minute need not upload 32 MiB.
      onRequest(context) {
        if (context.route.serve === undefined && context.part?.kind !== 'turn')
          return lookEarly(context, counters, whenDown)
      },

      onAdmit(context, target) {
        const caller = context.slots.need(callerSlot)
        const isDetached = context.slots.get(detachedJobSlot) === true
        const limits = limitsOf(context, target, isDetached)
        const admitting = admit(context, target, limits, placeOf(context, target))
        return isDetached
          ? Promise.resolve(admitting).then(() => refuseFull(context, host.stores.jobs, caller.key.id, limits))
          : admitting
      },

      onForward(context, out, _facet, target) {
        const taken = context.slots.get(takenSlot)
        const place = upstreamLimit(target.upstream)
        if (taken?.place?.upstream === target.upstream.name || !(place || taken?.place)) return out
        const left = taken?.place && counters.settle(taken.place.ticket, [0])
        if (taken) taken.place = undefined
        const enterThere = () =>
          place ? then(counters.take([place], whenDown), taking => enterNext(context, place, taking, out)) : out
        return andThen(left, enterThere)
      },

      onSettle(context, outcome) {
        const taken = context.slots.get(takenSlot)
        return taken && settle(context, outcome, taken)
      },
    }
  },
})

/** What a request has taken so far. */
function takenBy({ slots }: RequestContext): Taken {
  const taken = slots.get(takenSlot) ?? { limits: [], ticket: undefined, place: undefined }
  slots.put(takenSlot, taken)
  return taken
}

/** All limits of a request, with the tokens that it may use. @throws Failure tokens_over_limit */
function limitsOf(context: RequestContext, { model }: Target, isDetached: boolean): readonly Limit[] {
  const caller = context.slots.need(callerSlot)
  const ofUser = userLimits(caller)
  const more = [
    ...(isDetached ? [jobsLimit(caller)] : []),
    ...endUserLimits(caller, context.slots.get(attributionSlot)),
    ...modelLimits(model, caller),
  ]
  const all = limitsOfPart(context, more.length > 0 ? [...ofUser, ...more] : ofUser)
  return withTokens(all, context.slots.get(tokenUseSlot))
}

/** The slots of a turn are those of its connection. */
function placeOf({ part }: RequestContext, { upstream }: Target): Limit | undefined {
  return part?.kind === 'turn' ? undefined : upstreamLimit(upstream)
}

/** A connection takes its slots for its whole duration, and its turns take the limits per minute. */
function limitsOfPart({ part }: RequestContext, limits: readonly Limit[]): readonly Limit[] {
  if (!part) return limits
  return limits.filter(({ counts }) => (part.kind === 'turn' ? counts !== 'places' : counts !== 'tokens'))
}

/** Checks the limits early, if that saves an upload. @throws Failure rate_limit_exceeded */
function lookEarly(context: RequestContext, counters: Counters, whenDown: WhenDown): Awaitable<void> {
  const limits = userLimits(context.slots.need(callerSlot))
  if (limits.length === 0) return
  const known = knownOf(counters, limits, whenDown)
  if (known) return look(context, limits, known)
  // A body this short arrives before a store across the network would answer: `onAdmit` checks the limits, once.
  if (bodyBytesOf(context.head) <= shortBodyBytes) return
  return then(counters.peek(limits, whenDown), statuses => look(context, limits, statuses))
}

/** @throws Failure rate_limit_exceeded */
function look(context: RequestContext, limits: readonly Limit[], statuses: readonly LimitStatus[]): void {
  context.limits = limitStates(limits, statuses)
  if (!limits.some((limit, i) => refuses(limit, statuses[i] as LimitStatus))) return
  context.notes.limits = decisions(limits, statuses, false)
  throw refusal(limits, statuses)
}

/** Continues with the counters' answer, without a wait if it is in memory. @throws Failure counters_unavailable */
function then<T, U>(result: Awaitable<T>, goOn: (value: T) => Awaitable<U>): Awaitable<U> {
  return andThen(result, goOn, refuseWithout)
}

/** @throws Failure counters_unavailable */
function knownOf(counters: Counters, limits: readonly Limit[], whenDown: WhenDown) {
  try {
    return counters.known(limits, whenDown)
  } catch (cause) {
    return refuseWithout(cause)
  }
}

function refuseWithout(cause: unknown): never {
  throw cause instanceof CountersDown ? fail('counters_unavailable', {}, { cause, retryAfterMs: unavailableMs }) : cause
}

/** The announced length: Infinity if there is none, because a chunked body may be of any length. */
function bodyBytesOf({ headers }: Head): number {
  if (headers['transfer-encoding'] !== undefined) return Infinity
  return Number(headers['content-length'] ?? 0)
}

/** Token limits take the highest possible use of the request. @throws Failure tokens_over_limit */
function withTokens(limits: readonly Limit[], tokens: TokenUse | undefined): readonly Limit[] {
  if (!tokens || !limits.some(limit => limit.counts === 'tokens')) return limits
  return limits.map(limit => {
    if (limit.counts !== 'tokens') return limit
    const { estimate } = tokens
    if (estimate > limit.limit && !limit.shadow)
      throw fail('tokens_over_limit', { estimate, limit: limit.name, max: limit.limit })
    return { ...limit, amount: estimate }
  })
}

function usedOf(limit: Limit, tokens: TokenUse | undefined, outcome: Outcome): number {
  return limit.counts === 'tokens' ? (tokens?.actual(outcome) ?? 0) : limit.amount
}
