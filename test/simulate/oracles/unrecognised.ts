import { markOf } from '../../fuzz/readers/made.ts'
import { readHeld } from '../../fuzz/readers/read-held.ts'
import { idOf, isImages, isReplay, statusOf } from '../play/asks.ts'
import type { Oracle } from './oracle.ts'

export const unrecognised: Oracle = {
  name: 'unrecognised',
  promise: 'Whoever reads an answer with any means finds no more images in it than are billed, whatever its shape.',
  *judge({ stage, books }) {
    const numbers = new Map<string, number>()
    for (const [number, mark] of stage.upstreams.painted.entries()) numbers.set(markOf(mark), number)
    for (const ask of stage.asks) {
      const body = ask.answer?.body
      if (!isImages(ask) || isReplay(ask) || !body || body.length === 0 || statusOf(ask) !== 200) continue
      const { pictures, links } = readHeld(body, mark => numbers.get(mark))
      const lines = books.linesOf(idOf(ask) ?? '').length
      if (pictures.size + links <= lines) continue
      const { shape, known } = ask.first.arrivals.at(-1) ?? { shape: '', known: false }
      const detail = `ask ${ask.no}: ${shape}: ${pictures.size} pictures, ${links} links, ${lines} lines`
      yield [`an answer of ${known ? 'a known' : 'an unknown'} shape holds more than is billed`, detail]
    }
  },
}
