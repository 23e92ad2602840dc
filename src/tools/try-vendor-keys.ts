import { probe, Transport } from '../engine/index.ts'
import { pluginFinder } from '../gateway/plugin-finder.ts'
import { Signers } from '../gateway/signers.ts'
import { SimulatedUpstreams } from '../gateway/simulated-upstreams.ts'
import type { KeyTrial, CompiledConfig, VendorKey } from '../domain/index.ts'
import { systemClock } from '../util/index.ts'
import { createLog } from '../observe/index.ts'

/** Tests vendor keys with requests that cost nothing, one after another, without a gateway. */
export async function* tryVendorKeys(plan: CompiledConfig, keys: readonly VendorKey[]): AsyncIterable<KeyTrial> {
  const clock = systemClock
  const simulated = new SimulatedUpstreams()
  const signers = new Signers({
    finder: () => pluginFinder(plan.file),
    clock,
    log: createLog({ level: 'silent' }),
    post: (...args) => transport.post(...args),
  })
  const transport: Transport = new Transport(url => simulated.resolve(url), clock, undefined, signers.of)
  try {
    await simulated.start(plan)
    await signers.build(plan)
    for (const key of keys) yield await probe(key, { clock, send: request => transport.send(request) })
  } finally {
    await transport.close()
    await simulated.close()
  }
}
