import { codeOf, isRepeated, statusOf } from '../play/asks.ts'
import { toolOf } from '../play/callers.ts'
import type { Oracle } from './oracle.ts'

export const kind: Oracle = {
  name: 'kind',
  promise: 'A chat that the vendor answers in the other kind is a 502, and its charge waits for a person.',
  *judge({ stage, books }) {
    for (const ask of stage.asks) {
      const arrival = ask.arrivals.at(-1)
      if (ask.wish.operation !== 'chat' || arrival?.shape !== 'turned' || arrival.wholeAt === undefined) continue
      if (ask.left || ask.disturbed !== undefined || isRepeated(stage.asks, ask) || toolOf(ask.wish) !== undefined)
        continue
      const charge = books.chargeOf(ask)
      const found = `ask ${ask.no}: ${statusOf(ask)} ${codeOf(ask) ?? ''}, ${charge?.['state'] ?? 'no charge'}`
      if (statusOf(ask) !== 502) yield ['an answer of the other kind reached the client', found]
      const isDecided = stage.decisions.some(one => one.id === charge?.['id'])
      const lapsed = stage.settingsBetween(ask.sentAt).some(one => one.lapses)
      if (!isDecided && !lapsed && charge?.['state'] !== 'needs_review')
        yield ['an answer of the other kind does not wait for a person', found]
    }
  },
}
