import type { Oracle } from './oracle.ts'

/** The program needs to warm up, and machines differ: this detects only work that grows without bound. */
const turnMs = 250

export const time: Oracle = {
  name: 'time',
  promise: 'Nothing that happens keeps the processor for more than 250 ms.',
  *judge({ stage }) {
    const { ms, label } = stage.world.time.slowest
    if (ms > turnMs) yield [`a long turn: ${label.replaceAll(/\d+/g, '#')}`, `${ms} ms`]
  },
}
