import { type Ask, statusOf } from '../play/asks.ts'
import { type GroupName, limitsOf } from '../play/settings.ts'
import type { Stage } from '../play/stage.ts'
import type { Oracle } from './oracle.ts'

const windowMs = 60_000
/** The maximum time until a refused request's place is free again, without any fault. */
const givenBackMs = 15_000

/**
 * A group of requests that count together, and its limit per minute: the lowest and highest value between two times.
 */
type Subject = {
  readonly name: string
  readonly keys: readonly number[]
  readonly rpm: (pick: (...of: number[]) => number, from: number, until: number) => number
}

export const limits: Oracle = {
  name: 'limits',
  promise:
    'No more requests than the limit in any 60 seconds of one life, nor at once; and no one is refused who had room.',
  *judge({ stage }) {
    for (const subject of subjectsOf(stage)) {
      const asks = stage.asks.filter(ask => subject.keys.includes(ask.wish.key))
      yield* judgeExcess(subject, asks)
      yield* judgeRefusals(stage, subject, asks)
    }
    for (const [number, key] of stage.keys.entries()) {
      const { concurrency } = limitsOf[key.group]
      if (concurrency !== undefined && key.groups.length === 1) yield* judgePlaces(number, concurrency, stage)
    }
  },
}

export function subjectsOf(stage: Stage): readonly Subject[] {
  const subjects: Subject[] = []
  for (const [number, key] of stage.keys.entries()) {
    const { rpm, scope } = limitsOf[key.group]
    const own = key.rpm ?? Infinity
    if (scope === 'key' || own < Infinity)
      subjects.push({
        name: `key ${key.name}`,
        keys: [number],
        rpm: (pick, from, until) =>
          pick(
            ...key.groups.map(group => Math.min(own, scope === 'key' ? ofGroup(stage, group, pick, from, until) : own)),
          ),
      })
    if (scope === 'key' || subjects.some(one => one.name === `user ${key.user}`)) continue
    const keys = stage.keys.flatMap((one, i) => (one.user === key.user && one.group === key.group ? [i] : []))
    subjects.push({ name: `user ${key.user}`, keys, rpm: () => rpm })
  }
  return subjects
}

function ofGroup(
  stage: Stage,
  group: GroupName,
  pick: (...of: number[]) => number,
  from: number,
  until: number,
): number {
  const { rpm, narrow } = limitsOf[group]
  return pick(...stage.settingsBetween(from, until).map(one => (one.narrow ? (narrow?.rpm ?? rpm) : rpm)))
}

/**
 * The exact time of admission is unknown: between sending and arrival. A request that was sent and has arrived within
 * one minute was certainly admitted within it.
 */
export function* judgeExcess(
  { name, rpm }: Omit<Subject, 'keys'>,
  asks: readonly Ask[],
): Iterable<readonly [string, string]> {
  const arrived = asks.flatMap(ask => {
    const arrival = ask.arrivals.find(one => one.life === ask.life)
    return arrival ? [{ from: ask.sentAt, until: arrival.at, life: ask.life }] : []
  })
  for (const first of arrived) {
    const within = arrived.filter(
      one => one.life === first.life && one.from >= first.from && one.until < first.from + windowMs,
    )
    const most = rpm(Math.max, first.from, first.from + windowMs)
    if (within.length <= most) continue
    yield [
      'more requests than a minute allows',
      `${name}: ${within.length} of ${most} from ${Math.round(first.from)} ms`,
    ]
    return
  }
}

/** A request was refused although the limit exceeds the number of all requests that may have counted. */
export function* judgeRefusals(
  stage: Stage,
  subject: Subject,
  asks: readonly Ask[],
): Iterable<readonly [string, string]> {
  // If a key has two limits, the answer does not show which one was reached.
  const isAlone = (ask: Ask): boolean => {
    const own = subjectsOf(stage).filter(one => one.keys.includes(ask.wish.key))
    return own.length === 1 && own[0]?.name === subject.name
  }
  yield* judgeRoom('user_rpm', subject, asks, isAlone)
}

/** The same check for requests that one limit has refused. */
export function* judgeRoom(
  limit: string,
  { name, rpm }: Omit<Subject, 'keys'>,
  asks: readonly Ask[],
  isJudged: (ask: Ask) => boolean = () => true,
): Iterable<readonly [string, string]> {
  for (const ask of asks) {
    if (statusOf(ask) !== 429 || ask.disturbed !== undefined) continue
    const scope = ask.answer?.headers.get('x-ratelimit-scope')
    if (scope !== limit || ask.arrivals.length > 0 || !isJudged(ask)) continue
    const counted = asks.filter(one => one !== ask && one.life === ask.life && mayCount(one, ask)).length
    const least = rpm(Math.min, ask.sentAt, ask.endedAt ?? ask.sentAt)
    if (counted < least)
      yield ['refused where there was room', `${name}: ask ${ask.no}, at most ${counted} of ${least}`]
  }
}

function mayCount(one: Ask, refused: Ask): boolean {
  const from = refused.sentAt - windowMs
  if (one.sentAt > (refused.endedAt ?? Infinity) || (one.endedAt ?? Infinity) < from) return false
  if (one.first.arrivals.length > 0 || one.disturbed !== undefined) return true
  // Refused before any upstream call: it used nothing, and has returned its place by now.
  return (one.endedAt ?? Infinity) + givenBackMs > refused.sentAt
}

/** The time during which a vendor worked on an ask. */
type Span = { readonly ask: Ask; readonly from: number; readonly until: number; readonly life: number }

/** A request in progress at a vendor is in progress here: until the answer is complete, or the caller has left. */
export function spansOf(asks: readonly Ask[]): readonly Span[] {
  return asks.flatMap(ask =>
    ask.arrivals.flatMap(({ at, wholeAt, cutOffAt, life }) =>
      wholeAt === undefined ? [] : [{ ask, from: at, until: cutOffAt ?? wholeAt, life }],
    ),
  )
}

/**
 * The number of requests in progress when one began; a vendor may still be writing its refusal while it receives the
 * next one.
 */
export function countTogether(one: Span, spans: readonly Span[]): number {
  return new Set(spans.filter(other => other.from <= one.from && other.until > one.from).map(({ ask }) => ask)).size
}

function* judgePlaces(number: number, most: number, stage: Stage): Iterable<readonly [string, string]> {
  const spans = spansOf(stage.asks.filter(ask => ask.wish.key === number))
  for (const one of spans) {
    const together = countTogether(
      one,
      spans.filter(other => other.life === one.life),
    )
    if (together <= most) continue
    yield ['more requests at once than allowed', `key ${number}: ${together} of ${most} at ${Math.round(one.from)}`]
    return
  }
}
