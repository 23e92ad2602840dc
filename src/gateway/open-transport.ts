import type { CompiledConfig } from '../domain/index.ts'
import { Transport } from '../engine/transport.ts'
import { createLog } from '../observe/index.ts'
import { systemClock } from '../util/index.ts'
import { pluginFinder } from './plugin-finder.ts'
import { Signers } from './signers.ts'
import { SimulatedUpstreams } from './simulated-upstreams.ts'

export type OpenTransport = {
  readonly transport: Transport
  readonly close: () => Promise<void>
}

/** Opens connections to the upstreams of a configuration, for a few requests without a running gateway. */
export async function openTransport(plan: CompiledConfig): Promise<OpenTransport> {
  const simulated = new SimulatedUpstreams()
  const signers = new Signers({
    finder: () => pluginFinder(plan.file),
    clock: systemClock,
    log: createLog({ level: 'silent' }),
    post: (...args) => transport.post(...args),
  })
  const transport: Transport = new Transport(url => simulated.resolve(url), systemClock, undefined, signers.of)
  const close = async (): Promise<void> => {
    await transport.close()
    await simulated.close()
  }
  try {
    await simulated.start(plan)
    await signers.build(plan)
  } catch (error) {
    await close()
    throw error
  }
  return { transport, close }
}
