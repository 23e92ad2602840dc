import { type Ask, statusOf } from '../play/asks.ts'
import { limitsOf } from '../play/settings.ts'
import type { Stage } from '../play/stage.ts'
import type { Finding, Oracle } from './oracle.ts'

const windowMs = 60_000
/** The maximum time until a request's usage replaces its estimate. */
const countedMs = 2_000
/** The output limit that these callers request, plus the maximum count of the rest of a chat. */
const allowed = 3_100
const aroundIt = 200

export const tokens: Oracle = {
  name: 'tokens',
  promise:
    'Nobody is let in beyond the tokens of a minute, by what vendors reported; and no one is refused who had room.',
  judge: ({ stage }) =>
    judgeTokens(stage, {
      isCounted: (one, ask, at) => one.life === ask.life && one.sentAt > at - windowMs,
      isToldOf: () => true,
    }),
}

/** What an admission knows about other requests. */
type Knowledge = {
  /** Whether it certainly counted the request when it admitted `ask`, at `at` at the latest. */
  readonly isCounted: (one: Ask, ask: Ask, at: number) => boolean
  /** Whether it certainly knew the request's usage, too. */
  readonly isToldOf: (one: Ask) => boolean
}

export function* judgeTokens(stage: Stage, knowledge: Knowledge): Iterable<Finding> {
  for (const [number, key] of stage.keys.entries()) {
    const { tpm } = limitsOf[key.group]
    if (tpm === undefined || key.groups.length > 1) continue
    const all = stage.asks.filter(ask => ask.wish.key === number)
    const asks = all.filter(ask => ask.first === ask)
    for (const ask of asks) {
      yield* judgeExcess(stage, asks, ask, knowledge)
      // A repeated request used tokens as well: there are no stored answers for text.
      yield* judgeRefusal(stage, all, ask)
    }
  }
}

/**
 * Exceeds the limit by certain counts alone. The order of requests that arrived together is unknown, but the last of
 * them was admitted after all the others.
 */
function* judgeExcess(
  stage: Stage,
  asks: readonly Ask[],
  ask: Ask,
  { isCounted, isToldOf }: Knowledge,
): Iterable<Finding> {
  const arrival = ask.arrivals.find(one => one.life === ask.life)
  if (!arrival || ask.wish.operation !== 'chat') return
  const most = tpmOf(stage, ask, Math.max)
  const leastBy = (one: Ask): number =>
    (one.arrivals[0]?.at ?? Infinity) < ask.sentAt
      ? leastOf(one, ask.sentAt, isToldOf(one))
      : leastBeside(one, arrival.at)
  const counted = asks
    .filter(one => one !== ask && isCounted(one, ask, arrival.at))
    .reduce((sum, one) => sum + leastBy(one), 0)
  if (counted + allowed > most)
    yield ['more tokens than a minute allows', `ask ${ask.no}: ${counted} and ${allowed} of ${most}`]
}

/** The minimum count of a request that arrived by then, from its admission until then. */
function leastBeside(one: Ask, until: number): number {
  const [arrival] = one.arrivals
  if (!arrival || arrival.at > until || one.wish.operation !== 'chat' || one.left || one.arrivals.length > 1) return 0
  if (arrival.failed || arrival.odd !== undefined || arrival.wholeAt === undefined) return 0
  if (arrival.wholeAt > until) return allowed
  return Math.min(allowed, (arrival.usage?.input ?? 0) + (arrival.usage?.output ?? 0))
}

/** The minimum count of a request at a time; `isTold`: its usage, once it has ended. */
function leastOf(one: Ask, at: number, isTold: boolean): number {
  const [arrival] = one.arrivals
  if (!arrival || arrival.at >= at || one.wish.operation !== 'chat') return 0
  if (
    arrival.wholeAt === undefined ||
    one.left ||
    arrival.failed ||
    arrival.odd !== undefined ||
    one.arrivals.length > 1
  )
    return 0
  const { input, output } = arrival.usage ?? { input: 0, output: 0 }
  if (arrival.wholeAt > at) return Math.min(allowed, input + output)
  if (statusOf(one) !== 200 || one.answer?.whole !== true) return 0
  return isTold && (one.endedAt ?? Infinity) + countedMs < at ? input + output : Math.min(allowed, input + output)
}

/** Refused although the highest possible count leaves room for it. */
function* judgeRefusal(stage: Stage, asks: readonly Ask[], ask: Ask): Iterable<Finding> {
  if (statusOf(ask) !== 429 || ask.disturbed !== undefined || ask.arrivals.length > 0) return
  if (ask.answer?.headers.get('x-ratelimit-scope') !== 'user_tpm') return
  const least = tpmOf(stage, ask, Math.min)
  const counted = asks
    .filter(one => one !== ask && one.life === ask.life && one.sentAt <= (ask.endedAt ?? Infinity))
    .filter(one => (one.endedAt ?? Infinity) > ask.sentAt - windowMs)
    .reduce((sum, one) => sum + mostOf(one), 0)
  if (counted + allowed + aroundIt <= least)
    yield ['refused where there was room', `ask ${ask.no}: at most ${counted} of ${least}`]
}

function mostOf(one: Ask): number {
  const reported = one.first.arrivals.map(({ usage, body, requestBytes }) =>
    Math.max((usage?.input ?? 0) + (usage?.output ?? 0), requestBytes + Buffer.byteLength(body)),
  )
  return Math.max(one.wish.operation === 'embeddings' ? aroundIt : allowed + aroundIt, ...reported)
}

function tpmOf(stage: Stage, ask: Ask, pick: (...of: number[]) => number): number {
  const { tpm = Infinity, narrow } = limitsOf[stage.keys[ask.wish.key]?.group ?? 'default']
  const inUse = stage.settingsBetween(ask.sentAt, ask.endedAt)
  return pick(...inUse.map(settings => (settings.narrow ? (narrow?.tpm ?? tpm) : tpm)))
}
