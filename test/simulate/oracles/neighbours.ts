import { type Ask, codeOf, statusOf } from '../play/asks.ts'
import { narrowest } from '../play/settings.ts'
import type { Oracle } from './oracle.ts'

/** A sent request may join the queue up to this much later. */
const joinedMs = 1_000
const onTheWayMs = 15_000

export const neighbours: Oracle = {
  name: 'neighbours',
  promise:
    'A client that fills an upstream keeps no other one waiting out of turn; who is refused is refused soon and told when to come back.',
  *judge({ stage }) {
    const asks = stage.asks.filter(ask => ask.wish.model === 'narrow-chat')
    for (const ask of asks) {
      if (ask.disturbed !== undefined || ask.left || ask.endedAt === undefined) continue
      const isRefused = codeOf(ask) === 'upstream_queue_full'
      const detail = `ask ${ask.no}, key ${ask.wish.key}: ${statusOf(ask)} after ${ask.endedAt - ask.sentAt} ms`
      if (isRefused && (statusOf(ask) !== 429 || !Number(ask.answer?.headers.get('retry-after'))))
        yield ['a full queue does not say when to come back', detail]
      if (isRefused && ask.endedAt - ask.sentAt > narrowest.queueForMs + onTheWayMs)
        yield ['a request waits longer than it may', detail]
      const served = overtaking(asks, ask)
      // Up to this many may be on their way to the upstream when this one gets its connection.
      if (served > narrowest.connections)
        yield ['a client is served out of turn', `${detail}, overtaken by ${served} requests of one key`]
    }
  },
}

/**
 * The maximum number of requests of one other key that reached the upstream while this one, the only one of its key,
 * waited.
 */
function overtaking(asks: readonly Ask[], ask: Ask): number {
  const until = ask.arrivals[0]?.at ?? ask.endedAt ?? Infinity
  const from = ask.sentAt + joinedMs
  const own = asks.filter(one => one !== ask && one.wish.key === ask.wish.key)
  if (own.some(one => one.sentAt < until && (one.endedAt ?? Infinity) > ask.sentAt)) return 0
  const served = new Map<number, number>()
  for (const { wish, arrivals } of asks)
    for (const { at } of arrivals)
      if (wish.key !== ask.wish.key && at > from && at < until) served.set(wish.key, (served.get(wish.key) ?? 0) + 1)
  return Math.max(0, ...served.values())
}
