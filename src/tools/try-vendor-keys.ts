import { probe } from '../engine/index.ts'
import { openTransport } from '../gateway/open-transport.ts'
import type { KeyTrial, CompiledConfig, VendorKey } from '../domain/index.ts'
import { systemClock } from '../util/index.ts'

/** Tests vendor keys with requests that cost nothing, one after another, without a gateway. */
export async function* tryVendorKeys(plan: CompiledConfig, keys: readonly VendorKey[]): AsyncIterable<KeyTrial> {
  const { transport, close } = await openTransport(plan)
  try {
    for (const key of keys) yield await probe(key, { clock: systemClock, send: request => transport.send(request) })
  } finally {
    await close()
  }
}
