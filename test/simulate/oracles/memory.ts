import type { Oracle } from './oracle.ts'

export const memory: Oracle = {
  name: 'memory',
  promise: 'Everything that was taken is given back: requests, sockets, timers, files.',
  *judge({ leftovers }) {
    for (const left of leftovers) yield [left.replaceAll(/\d+/g, '#'), left]
  },
}
