import { codeOf, statusOf } from '../play/asks.ts'
import { effectOf, nameOf, poolKeys } from '../play/pool.ts'
import type { Finding, Oracle } from '../oracles/oracle.ts'
import type { Books } from '../play/books.ts'
import { Fleet } from './fleet.ts'
import type { Death } from './deaths.ts'

export const keyDeaths: Oracle = {
  name: 'key-deaths',
  promise: `A key of a vendor that dies under several gateways costs no caller an answer; that it is suspended, and that it is
    back, is told once by all of them together; what was charged for what was asked with a key is its sum at all of them.`,
  *judge({ stage, books }) {
    if (!(stage instanceof Fleet)) throw new Error('this is judged of a fleet alone')
    yield* judgeReported(stage)
    for (const death of stage.deaths) yield* judgeDeath(death, stage.seats.length)
    yield* judgeSums(stage, books)
  },
}

/** With any faults: between two equal events about a key, there is a different one. */
function* judgeReported({ reported }: Fleet): Iterable<Finding> {
  const last = new Map<string, string>()
  for (const { kind, key, reason, by } of reported) {
    const state = kind === 'upstream.key_suspended' ? `suspended, ${reason}` : 'resumed'
    if (by === null && last.get(key) === state) yield ['what becomes of a key is told twice', `${key}: ${state}`]
    last.set(key, state)
  }
}

function* judgeDeath(
  { key, secret, from, until, asks, isSound, reported }: Death,
  gateways: number,
): Iterable<Finding> {
  if (!isSound) return
  const dead = asks.filter(({ arrivals }) =>
    arrivals.some(({ secret: of, ill }) => of === secret && ill !== undefined && effectOf(ill) !== 'cooling'),
  )
  const period = `${key}, ${Math.round(from)} to ${Math.round(until)} ms`
  for (const ask of asks)
    if (ask.disturbed === undefined && codeOf(ask)?.startsWith('upstream_') === true)
      yield [
        "a call is lost by the death of a vendor's key",
        `${period}: ask ${ask.no}: ${statusOf(ask)} ${codeOf(ask)}`,
      ]
  // A 402 may be about one request: it counts once the same gateway gets a second one. A request that another key
  // refused before need not count for this one.
  const isFirst = dead.filter(({ arrivals }) => arrivals.find(({ ill }) => ill !== undefined)?.secret === secret)
  const needed = dead.some(({ arrivals }) => arrivals.some(({ ill }) => ill === 'unpaid')) ? gateways + 1 : 1
  const [least, most] = [isFirst.length >= needed ? 1 : 0, dead.length > 0 ? 1 : 0]
  if (reported.suspended < least || reported.suspended > most || reported.resumed !== reported.suspended)
    yield [
      'the death of a key, and its end, are not told once',
      `${period}: ${JSON.stringify(reported)}, refused ${dead.length}`,
    ]
}

/** To the micro-unit, if no machine had a fault. */
function* judgeSums({ asks, disturbances, decisions, upstreams }: Fleet, books: Books): Iterable<Finding> {
  if (disturbances.length > 0 || decisions.length > 0) return
  for (const { name, budget } of poolKeys) {
    const spent = upstreams.keys.spent.find(one => one.key === name)?.spent
    if (budget === undefined || spent === undefined) continue
    const sum = asks.reduce((all, ask) => {
      const isOfKey = nameOf(ask.first.arrivals.at(-1)?.secret ?? '') === name
      const charges = isOfKey ? [books.chargeOf(ask), books.chargeOf(ask, '.u')] : []
      return all + charges.reduce((own, row) => own + (row?.['state'] === 'settled' ? Number(row['amount']) : 0), 0)
    }, 0)
    if (spent !== sum) yield ['what a key has spent is not what was charged', `${name}: ${spent}, charged ${sum}`]
  }
}
