import { type Ask, statusOf } from '../play/asks.ts'
import { limitsOf } from '../play/settings.ts'
import type { Stage } from '../play/stage.ts'
import type { Finding, Oracle } from './oracle.ts'

const windowMs = 60_000
/** Until what a request has used is counted in the place of what it was thought to come to. */
const countedMs = 2_000
/** What a chat allows for its answer, as the callers here write it, and the most that the rest of it may count. */
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

/** What whoever lets a request in knows of others. */
type Knowledge = {
  /** Surely, when it let `ask` in, not later than `at`. */
  readonly isCounted: (one: Ask, ask: Ask, at: number) => boolean
  /** Of what it has used, too. */
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
      // What was asked again has taken tokens too: text has no answer that is kept for it.
      yield* judgeRefusal(stage, all, ask)
    }
  }
}

/**
 * By what was surely counted: too much. Of those that came in while it did nobody outside knows who was before whom; the
 * last of all of them, whichever it was, met all the others.
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

/** What a request that arrived by then counts at least, from when it was let in until then. */
function leastBeside(one: Ask, until: number): number {
  const [arrival] = one.arrivals
  if (!arrival || arrival.at > until || one.wish.operation !== 'chat' || one.left || one.arrivals.length > 1) return 0
  if (arrival.failed || arrival.odd !== undefined || arrival.wholeAt === undefined) return 0
  if (arrival.wholeAt > until) return allowed
  return Math.min(allowed, (arrival.usage?.input ?? 0) + (arrival.usage?.output ?? 0))
}

/** What a request counts at least, at a time; `isTold`: what it has used, once it is through. */
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

/** Although all that may have been counted leaves room for it: refused. */
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
  const said = one.first.arrivals.map(({ usage, body, requestBytes }) =>
    Math.max((usage?.input ?? 0) + (usage?.output ?? 0), requestBytes + Buffer.byteLength(body)),
  )
  return Math.max(one.wish.operation === 'embeddings' ? aroundIt : allowed + aroundIt, ...said)
}

function tpmOf(stage: Stage, ask: Ask, pick: (...of: number[]) => number): number {
  const { tpm = Infinity, narrow } = limitsOf[stage.keys[ask.wish.key]?.group ?? 'default']
  const inUse = stage.settingsBetween(ask.sentAt, ask.endedAt)
  return pick(...inUse.map(settings => (settings.narrow ? (narrow?.tpm ?? tpm) : tpm)))
}
