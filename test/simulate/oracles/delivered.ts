import { type Arrival, type Ask, codeOf, had, isRepeated, isReplay, statusOf } from '../play/asks.ts'
import type { Oracle } from './oracle.ts'

export const delivered: Oracle = {
  name: 'delivered',
  promise: 'A whole answer of a known shape arrives whole at a caller who stays, where nothing was in its way.',
  *judge({ stage }) {
    for (const ask of stage.asks) {
      const arrival = ask.arrivals.at(-1)
      if (!arrival || ask.left || ask.disturbed !== undefined || isReplay(ask) || isRepeated(stage.asks, ask)) continue
      if (arrival.wholeAt === undefined || !arrival.known || arrival.failed) continue
      // The family's setting refuses such answers.
      if (arrival.odd === 'unsaid' && codeOf(ask) === 'upstream_usage_missing') continue
      const missing = lacks(ask, arrival)
      if (missing === undefined) continue
      const { operation, stream, wire } = ask.wish
      const what = `${stream ? 'stream ' : ''}by ${wire}: ${statusOf(ask)} ${codeOf(ask) ?? ''}`
      yield [`a paid answer is lost: ${what.trim()}`, `ask ${ask.no}, ${operation} ${arrival.shape}: ${missing}`]
    }
  },
}

function lacks(ask: Ask, arrival: Arrival): string | undefined {
  if (statusOf(ask) !== 200) return 'another status'
  if (!ask.answer?.whole) return 'it is not whole'
  const { length } = had(ask, arrival.made)
  if (length < arrival.made.length) return `${length} of ${arrival.made.length} pictures`
  if (ask.wish.operation === 'chat' && ask.wish.stream)
    return ask.answer.body.includes('[DONE]') ? undefined : 'no end of the stream'
  if (arrival.made.length > 0 || ask.wish.stream) return undefined
  return ask.answer.body.toString('utf8').includes(arrival.body) ? undefined : 'other bytes'
}
