import { type Ask, codeOf, statusOf } from '../play/asks.ts'
import { limitsOf } from '../play/settings.ts'
import { commonOracles } from '../oracles/index.ts'
import { countTogether, judgeRefusals, spansOf, subjectsOf } from '../oracles/limits.ts'
import type { Evidence, Finding, Oracle } from '../oracles/oracle.ts'
import { judgeTokens } from '../oracles/tokens.ts'
import { Fleet } from './fleet.ts'
import { keyDeaths } from './oracle-of-keys.ts'

const windowMs = 60_000

function fleetOf({ stage }: Evidence): Fleet {
  if (stage instanceof Fleet) return stage
  throw new Error('this is judged of a fleet alone')
}

const exact: Oracle = {
  name: 'exact-limits',
  promise: `No more requests than the limit in any 60 seconds over all gateways together, nor at once; while one of them cannot
    count with the others, no more than refuse or local says.`,
  *judge(evidence) {
    const fleet = fleetOf(evidence)
    const subjects = subjectsOf(fleet)
    for (const subject of subjects) {
      const { name, rpm, keys } = subject
      const asks = fleet.asks.filter(ask => keys.includes(ask.wish.key))
      // The exact time of admission is unknown: between sending and arrival.
      const arrived = asks.flatMap(ask => {
        const arrival = ask.first === ask ? ask.arrivals[0] : undefined
        return arrival ? [{ from: ask.sentAt, until: arrival.at }] : []
      })
      for (const first of arrived) {
        const until = first.from + windowMs
        const count = arrived.filter(one => one.from >= first.from && one.until < until).length
        const most = rpm(Math.max, first.from, until) * boundOf(fleet, first.from, until)
        if (count > most)
          yield ['more requests than a minute allows', `${name}: ${count} of ${most} from ${first.from}`]
      }
      yield* judgeRefusals(fleet, subject, asks)
    }
    for (const [number, key] of fleet.keys.entries()) {
      const { concurrency } = limitsOf[key.group]
      if (concurrency !== undefined) yield* judgePlaces(fleet, number, concurrency)
    }
  },
}

/** The factor by which a subject may have exceeded its limit between two times. */
function boundOf(fleet: Fleet, from: number, until: number): number {
  const overlapping = fleet.apart.filter(one => one.from < until && one.until + windowMs > from)
  const forgotten = overlapping.filter(one => one.isForgotten).length
  return (isApart(fleet, from, until) && fleet.policy === 'local' ? fleet.seats.length : 1) * (1 + forgotten)
}

/** The maximum difference between the minute of a gateway's own counts and that of Redis. */
const apartMs = 2_000

const exactTokens: Oracle = {
  name: 'exact-tokens',
  promise: `Nobody is let in beyond the tokens of a minute over all gateways together; while one of them cannot count with the
    others, and is to count by itself, beyond those that it has let in itself.`,
  judge(evidence) {
    const fleet = fleetOf(evidence)
    return judgeTokens(fleet, {
      isCounted(one, ask, at) {
        if (fleet.apart.some(({ from, isForgotten }) => isForgotten && from <= at && from >= one.sentAt)) return false
        const isTogether = fleet.policy === 'refuse' || !isApart(fleet, ask.sentAt, at)
        if (isTogether) return one.sentAt > at - windowMs
        return fleet.processOf.get(one) === fleet.processOf.get(ask) && one.sentAt > at - windowMs + apartMs
      },
      isToldOf: one => one.disturbed === undefined && !isApart(fleet, one.sentAt, one.endedAt ?? Infinity),
    })
  },
}

/** Whether a gateway did not share counts between two times, or in the minute before. */
function isApart(fleet: Fleet, from: number, until: number): boolean {
  return fleet.apart.some(one => !one.isForgotten && one.from < until && one.until + windowMs > from)
}

/**
 * A request in progress at a vendor is in progress here; places of a gateway that cannot renew them are released after
 * half a minute.
 */
function* judgePlaces(fleet: Fleet, number: number, most: number): Iterable<Finding> {
  const isJudged = (ask: Ask): boolean => ask.wish.key === number && ask.disturbed === undefined && !ask.left
  const spans = spansOf(fleet.asks.filter(isJudged))
  for (const one of spans) {
    const together = countTogether(one, spans)
    const bound = most * boundOf(fleet, one.from - windowMs, one.from)
    if (together > bound)
      yield ['more requests at once than allowed', `key ${number}: ${together} of ${bound} at ${Math.round(one.from)}`]
  }
}

const fenced: Oracle = {
  name: 'fenced',
  promise: 'What others have ended of a frozen gateway is as it was, whatever that one does when it is thawed.',
  *judge(evidence) {
    const fleet = fleetOf(evidence)
    const touched = new Set(fleet.decisions.map(({ id }) => id))
    for (const { gateway, at, charges } of fleet.fenced)
      for (const [id, was] of charges) {
        const is = evidence.books.charges.get(id)
        if (touched.has(id)) continue
        const lines = evidence.books.linesOf(id).length
        if (is?.['state'] !== was['state'] || is?.['amount'] !== was['amount'] || lines !== was['lines'])
          yield [
            `a ${was['state']} charge was changed by who had lost it`,
            `${id} of gateway ${gateway}, thawed at ${at}: ${is?.['state']} ${is?.['amount']}, ${lines} lines`,
          ]
      }
  },
}

const known: Oracle = {
  name: 'known',
  promise: 'A key that is disabled at one gateway is refused by all within a second, whose PostgreSQL is there.',
  *judge(evidence) {
    const fleet = fleetOf(evidence)
    for (const { key, from, until } of fleet.closings)
      for (const ask of fleet.asks) {
        if (ask.wish.key !== key || ask.sentAt < from || (ask.endedAt ?? Infinity) > until) continue
        if (ask.disturbed !== undefined || ask.arrivals.length === 0) continue
        yield ['a disabled key was let in', `ask ${ask.no} at ${ask.sentAt}, ${ask.sentAt - from} ms after`]
      }
  },
}

const decided: Oracle = {
  name: 'decided',
  promise: 'Of two who decide about one charge at two gateways one does, and the other is told that nothing was left.',
  *judge(evidence) {
    const fleet = fleetOf(evidence)
    for (const { id, done } of fleet.decided) if (done > 1) yield ['decided twice', `${id}: ${done} were told they did`]
    for (const [id, entries] of Map.groupBy(evidence.books.entries, entry => String(entry['charge_id']))) {
      const refunds = entries.filter(entry => entry['kind'] === 'refund').length
      if (refunds > 1) yield ['given back twice', `${id}: ${refunds} entries`]
    }
    for (const { id, why } of fleet.refusals)
      if (!/storage|database|writ|in the way/i.test(why)) yield [`whoever decides second is told: ${why}`, id]
  },
}

const counted: Oracle = {
  name: 'counted',
  promise: 'With refuse nobody is let in whom Redis has not counted; with local nobody is refused for want of Redis.',
  *judge(evidence) {
    const fleet = fleetOf(evidence)
    for (const ask of fleet.asks)
      if (fleet.policy === 'local' && statusOf(ask) === 503 && codeOf(ask) === 'counters_unavailable')
        yield ['refused for want of Redis', `ask ${ask.no}`]
  },
}

/** All oracles of a fleet: those of one gateway that apply to many, and its own. */
export const fleetOracles: readonly Oracle[] = [
  ...commonOracles,
  exact,
  exactTokens,
  fenced,
  known,
  decided,
  counted,
  keyDeaths,
]
