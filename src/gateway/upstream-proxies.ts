import type { Environment } from '../config/index.ts'
import type { Upstream } from '../domain/index.ts'
import { addressOf } from '../engine/upstream/index.ts'
import { environmentProxy, type ProxyAddress } from '../util/index.ts'

/** The proxy of an upstream: its own, none if it says so, or the environment's. Simulators are on this machine. */
export function upstreamProxy(env: Environment, { proxy, url: own }: Upstream, url: URL): ProxyAddress | undefined {
  if (proxy === 'none' || own.startsWith('simulator:')) return undefined
  return proxy ?? environmentProxy(env, addressOf(url))
}
