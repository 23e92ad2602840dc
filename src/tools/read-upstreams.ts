import { VendorKeys } from '../engine/index.ts'
import { modelsByUpstream, type CompiledConfig, type Storage, upstreamKeyView } from '../domain/index.ts'
import { systemClock, systemRandom } from '../util/index.ts'
import { createLog } from '../observe/index.ts'

/** A key as stored, without the outcomes of its requests: only the processes that send requests know them. */
type StoredKey = Omit<ReturnType<typeof upstreamKeyView.show>, 'requests' | 'lately'>

export type UpstreamShown = {
  readonly name: string
  readonly simulated: boolean
  /** Models that use it. */
  readonly models: readonly string[]
  /** How many of its keys may be used now; null if it needs no credential. */
  readonly keys_asked: number | null
  readonly keys: readonly StoredKey[]
}

/** Every upstream of a plan, and the status of each of its keys in the storage. */
export async function readUpstreams(
  plan: CompiledConfig,
  store: Storage['vendorKeys'],
): Promise<readonly UpstreamShown[]> {
  const keys = new VendorKeys({
    clock: systemClock,
    random: systemRandom,
    log: createLog({ level: 'silent' }),
    zone: plan.timeZone,
  })
  for (const status of await store.list()) keys.states.learn(status)
  keys.budgets.learn(await store.spent())
  const models = modelsByUpstream(plan)
  return [...plan.upstreams.values()].map(upstream => {
    const { name, url } = upstream
    const shown = keys.report(upstream).map(upstreamKeyView.show)
    return {
      name,
      simulated: url.startsWith('simulator:'),
      models: models.get(name) ?? [],
      keys_asked: upstream.keys ? shown.filter(({ asked }) => asked).length : null,
      keys: shown.map(({ requests: _requests, lately: _lately, ...rest }) => rest),
    }
  })
}
