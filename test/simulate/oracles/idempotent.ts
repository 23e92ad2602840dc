import { idOf, isReplay, statusOf } from '../play/asks.ts'
import type { Message } from '../world/http-wire.ts'
import type { Oracle } from './oracle.ts'

export const idempotent: Oracle = {
  name: 'idempotent',
  promise: 'One idempotency key is one sale, however often it is asked for within a day.',
  *judge({ stage, books }) {
    // After a clock jump of a day forward, earlier idempotency keys have expired.
    if (stage.jumps.length > 0) return
    for (const [first, asks] of Map.groupBy(stage.asks, ask => ask.first)) {
      if (asks.length < 2 || first.wish.idempotency === undefined) continue
      if (first.wish.operation !== 'image' && first.wish.operation !== 'edit') continue
      const ids = new Set(asks.filter(ask => !isReplay(ask)).flatMap(ask => idOf(ask) ?? []))
      const sold = [...ids].filter(id => books.linesOf(id).length > 0)
      if (sold.length > 1) yield ['one key was sold twice', `ask ${first.no}: ${sold.join(', ')}`]
      for (const again of asks)
        if (isReplay(again) && first.answer?.whole === true && statusOf(first) === 200 && !isReplay(first))
          if (again.answer?.whole === true && saidBy(again.answer) !== saidBy(first.answer))
            yield ['another answer is told again', `ask ${first.no} and ${again.no}`]
      const atOnce = first.arrivals.some((one, i) =>
        first.arrivals
          .slice(i + 1)
          .some(other => !other.failed && !one.failed && other.at < (one.wholeAt ?? one.cutOffAt ?? 0)),
      )
      if (atOnce) yield ['one key was made twice at once', `ask ${first.no}`]
    }
  },
}

/** Removes heartbeats, which depend on the waiting time. */
function saidBy({ body }: Message): string {
  return body.toString('latin1').replaceAll(/^:.*\n\n/gm, '')
}
