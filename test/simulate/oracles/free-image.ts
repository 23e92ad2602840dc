import { had, isImages, isReplay, statusOf } from '../play/asks.ts'
import { toolOf } from '../play/callers.ts'
import type { Oracle } from './oracle.ts'

export const freeImage: Oracle = {
  name: 'free-image',
  promise:
    'A picture that a caller has whole stands on a line, or its charge waits for a person and the answer was not whole.',
  *judge({ stage, books }) {
    for (const ask of stage.asks) {
      if (ask.wish.operation === 'chat' && had(ask).length > 0)
        yield ['a picture of a text model is free', `ask ${ask.no}: ${toolOf(ask.wish)}, ${statusOf(ask)}`]
      if (!isImages(ask) || isReplay(ask)) continue
      const pictures = had(ask)
      const charge = books.chargeOf(ask)
      const lines = charge ? books.linesOf(String(charge['id'])) : []
      if (pictures.length <= lines.length) continue
      const decided = stage.decisions.some(one => one.id === charge?.['id'])
      const arrival = ask.first.arrivals.find(one => one.made.some(picture => pictures.includes(picture)))
      const kind = `${ask.wish.stream ? 'events' : 'JSON'} of ${arrival?.known ? 'a known' : 'an unknown'} shape`
      const state = charge ? `${charge['state']} ${charge['reason'] ?? ''}`.trim() : 'no charge'
      const found = `had ${pictures.length}, ${lines.length} lines, ${state}`
      const detail = `ask ${ask.no}: ${ask.wish.operation} ${arrival?.shape}: ${found}`
      if (charge?.['state'] !== 'needs_review' && !decided) yield [`a picture in ${kind} is free`, detail]
      else if (isWhole(ask)) yield [`${kind} reaches the caller whole and is not billed`, detail]
    }
  },
}

function isWhole(ask: Parameters<typeof statusOf>[0]): boolean {
  return ask.answer?.whole === true && statusOf(ask) === 200
}
