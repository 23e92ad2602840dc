import { alpha } from './alpha.ts'
import { beta } from './beta.ts'
import type { simulatorNames } from './names.ts'
import { text } from './text/upstream.ts'
import type { SimulatedUpstream } from './upstream.ts'

/** Every simulated upstream, by the name that follows `simulator:` in an upstream's url. */
export const upstreams: { readonly [name: string]: SimulatedUpstream } = { alpha, beta, text } satisfies {
  readonly [name in (typeof simulatorNames)[number]]: SimulatedUpstream
}
