import { statusOf } from '../play/asks.ts'
import type { Oracle } from './oracle.ts'

/** Within this time every gateway has noticed a change. */
const heardMs = 1_000

export const keys: Oracle = {
  name: 'keys',
  promise: 'A key that is disabled, or a secret whose time is over, lets nobody in any more; until then it does.',
  *judge({ stage }) {
    for (const ask of stage.asks) {
      const { entry } = ask
      if (entry.kind === 'present') continue
      const detail = `ask ${ask.no}: sent ${Math.round(ask.sentAt - entry.since)} ms later, ${statusOf(ask) ?? 'no answer'}`
      if (entry.kind === 'disabled') {
        if (ask.sentAt > entry.since + heardMs && ask.arrivals.length > 0) yield ['a disabled key is let in', detail]
        continue
      }
      // The wall clock determines how long it remains valid.
      if (stage.jumps.length > 0) continue
      const until = entry.since + entry.overlapMs
      if (ask.sentAt > until + heardMs && ask.arrivals.length > 0) yield ['a replaced secret is let in', detail]
      const isEarly = (ask.endedAt ?? Infinity) < until - heardMs && ask.disturbed === undefined
      if (isEarly && statusOf(ask) === 401) yield ['a replaced secret is refused before its time', detail]
    }
  },
}
