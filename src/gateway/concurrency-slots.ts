import {
  type ConcurrencySlots,
  type Counters,
  type LimitRequest,
  slotsOfGroup,
  slotsOfKey,
  slotsOfUpstream,
  type CompiledConfig,
} from '../domain/index.ts'

/** The running requests under a concurrency limit. `taken` may exceed the limit only in shadow mode. */
export type SlotsInUse = {
  readonly of: 'upstream' | 'key' | 'group'
  readonly name: string
  readonly taken: number
  readonly limit: number
}

type Bound = Pick<SlotsInUse, 'of' | 'name' | 'limit'> & ConcurrencySlots

/**
 * The used slots of each shared limit, over all processes that share counters. Empty if the counters are unreachable.
 */
export async function countSlots(
  plan: CompiledConfig,
  counters: Pick<Counters, 'peek'>,
): Promise<readonly SlotsInUse[]> {
  const bounds = boundsOf(plan)
  if (bounds.length === 0) return []
  const requests: LimitRequest[] = bounds.map(({ id, owner, limit }) => ({
    id,
    ...(owner !== undefined && { owner }),
    kind: 'places',
    limit,
    amount: 0,
    shadow: false,
  }))
  const statuses = await Promise.resolve(counters.peek(requests, 'local')).catch(() => [])
  return statuses.map(({ remaining }, at) => {
    const { of, name, limit } = bounds[at] as Bound
    return { of, name, limit, taken: limit - remaining }
  })
}

function boundsOf({ upstreams, groups }: CompiledConfig): readonly Bound[] {
  const bounds: Bound[] = []
  for (const { name, concurrency, keys = [] } of upstreams.values()) {
    if (concurrency !== undefined) bounds.push({ of: 'upstream', name, limit: concurrency, ...slotsOfUpstream(name) })
    for (const key of keys)
      if (key.concurrency !== undefined)
        bounds.push({ of: 'key', name: `${name} / ${key.name}`, limit: key.concurrency, ...slotsOfKey(key) })
  }
  for (const { name, limitsInAll } of groups.values())
    if (limitsInAll?.concurrency !== undefined)
      bounds.push({ of: 'group', name, limit: limitsInAll.concurrency, ...slotsOfGroup(name) })
  return bounds
}
