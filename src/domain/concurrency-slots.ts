import type { LimitRequest } from './counters.ts'
import type { Group, VendorKey } from './model.ts'
import type { Key } from './shapes/key.ts'

/** The names under which requests in flight are counted, and the owners of these limits. */
export type ConcurrencySlots = Pick<LimitRequest, 'id' | 'owner'>

export function slotsOfUpstream(name: string): Required<ConcurrencySlots> {
  return { id: `concurrency upstream ${name}`, owner: `upstream ${name}` }
}

export function slotsOfKey({ id }: Pick<VendorKey, 'id'>): Required<ConcurrencySlots> {
  return { id: `concurrency vendor-key ${id}`, owner: `vendor-key ${id}` }
}

/** The counting group of a key: all keys of its user if any limit is per user, else nothing. */
export function ownerOfKey(
  { id, user }: Pick<Key, 'id' | 'user'>,
  { limitScope, limitsPerUser }: Pick<Group, 'limitScope' | 'limitsPerUser'>,
): string {
  return limitScope === 'user' || limitsPerUser ? `user ${user}` : `key ${id}`
}

/** Unfinished jobs of a key. */
export function slotsOfJobs(key: Pick<Key, 'id' | 'user'>, group: Group): Required<ConcurrencySlots> {
  return { id: `jobs key ${key.id}`, owner: ownerOfKey(key, group) }
}

/** All slots of a job whose client does not wait: one of the jobs of its key, and those of a request in flight. */
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
