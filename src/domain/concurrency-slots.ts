import type { LimitRequest } from './counters.ts'
import type { Group, VendorKey } from './model.ts'
import type { Key } from './shapes/key.ts'

/** The counter names of requests in flight, and the owners of these limits. */
export type ConcurrencySlots = Pick<LimitRequest, 'id' | 'owner'>

export function slotsOfUpstream(name: string): Required<ConcurrencySlots> {
  return { id: `concurrency upstream ${name}`, owner: `upstream ${name}` }
}

export function slotsOfKey({ id }: Pick<VendorKey, 'id'>): Required<ConcurrencySlots> {
  return { id: `concurrency vendor-key ${id}`, owner: `vendor-key ${id}` }
}

/** The owner of a key's counters: its user if any limit is per user, else the key. */
export function ownerOfKey(
  { id, user }: Pick<Key, 'id' | 'user'>,
  { limitScope, limitsPerUser }: Pick<Group, 'limitScope' | 'limitsPerUser'>,
): string {
  return limitScope === 'user' || limitsPerUser ? `user ${user}` : `key ${id}`
}

/** The counter of unfinished jobs of a key. */
export function slotsOfJobs(key: Pick<Key, 'id' | 'user'>, group: Group): Required<ConcurrencySlots> {
  return { id: `jobs key ${key.id}`, owner: ownerOfKey(key, group) }
}

/** All slots of a job whose client does not wait: one of its key's jobs, and those of a request in flight. */
export function slotsOfJob(key: Pick<Key, 'id' | 'user'>, group: Group): readonly Required<ConcurrencySlots>[] {
  return [
    slotsOfJobs(key, group),
    { id: `concurrency key ${key.id}`, owner: ownerOfKey(key, group) },
    { id: `concurrency user ${key.user}`, owner: `user ${key.user}` },
    slotsOfGroup(group.name),
  ]
}

export function slotsOfGroup(name: string): Required<ConcurrencySlots> {
  return { id: `concurrency group ${name}`, owner: `group ${name}` }
}
