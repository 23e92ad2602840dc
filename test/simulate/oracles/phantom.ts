import { idOf, isImages, isReplay, made } from '../play/asks.ts'
import { retried } from '../play/settings.ts'
import type { Oracle } from './oracle.ts'

export const phantom: Oracle = {
  name: 'phantom',
  promise: 'Nothing is billed that was not made, and nothing is asked for twice.',
  *judge({ stage, books }) {
    for (const ask of stage.asks) {
      if (ask.first !== ask) continue
      const same = stage.asks.filter(one => one.first === ask && !isReplay(one))
      const ids = new Set(same.flatMap(one => idOf(one) ?? []))
      if (isImages(ask)) {
        const lines = [...ids].reduce(
          (sum, id) => sum + books.linesOf(id).filter(line => line['tier'] !== 'decided').length,
          0,
        )
        const count = made(ask).length
        if (lines > count) yield ['more lines than pictures were made', `ask ${ask.no}: ${lines} lines, ${count} made`]
      }
      const mayRepeat = ask.wish.model === retried.model
      // A refused text is not a purchase if `retry_on` lists the status.
      const begun = ask.arrivals.filter(({ refusal, shape }) => !refusal && !(mayRepeat && shape === 'error500'))
      // If the caller repeats it, it may be made again when the first one was not sold.
      if (begun.length > same.length)
        yield ['an upstream was asked twice', `ask ${ask.no}: ${begun.map(one => one.shape).join(', ')}`]
      if (mayRepeat && ask.arrivals.length > same.length * retried.attempts)
        yield ['an upstream was asked more often than `attempts`', `ask ${ask.no}: ${ask.arrivals.length}`]
    }
    for (const first of stage.upstreams.strays) yield ['an upstream got what nobody sent', first]
  },
}
