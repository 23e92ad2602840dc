import { had, isImages, isRepeated, isReplay, statusOf } from '../play/asks.ts'
import type { Oracle } from './oracle.ts'

export const withheld: Oracle = {
  name: 'withheld',
  promise: 'A picture that is charged was delivered, or waits for a person, whatever stood around it.',
  *judge({ stage, books }) {
    for (const ask of stage.asks) {
      const arrival = ask.arrivals.at(-1)
      if (!isImages(ask) || ask.left || ask.disturbed !== undefined || isReplay(ask) || isRepeated(stage.asks, ask))
        continue
      // A cut answer is charged up to the cut.
      if (!arrival || arrival.wholeAt === undefined) continue
      const charge = books.chargeOf(ask)
      if (charge?.['state'] !== 'settled' || stage.decisions.some(one => one.id === charge['id'])) continue
      const charged = books.linesOf(String(charge['id'])).length
      // SDKs discard an answer that is cut off.
      const length = ask.answer?.whole && statusOf(ask) === 200 ? had(ask).length : 0
      if (length >= charged) continue
      const detail = `ask ${ask.no}: ${ask.wish.operation} ${arrival.shape}: had ${length} of ${charged}, ${statusOf(ask)}`
      yield ['a picture is charged and withheld', detail]
    }
  },
}
