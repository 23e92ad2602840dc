import type { LimitRequest } from './counters.ts'
import type { Group, VendorKey } from './model.ts'
import type { Key } from './shapes/key.ts'

/** By what names requests in flight are counted, and whose limits those are. */
export type CountedPlaces = Pick<LimitRequest, 'id' | 'owner'>

export function placesOfUpstream(name: string): Required<CountedPlaces> {
  return { id: `concurrency upstream ${name}`, owner: `upstream ${name}` }
}

export function placesOfKey({ id }: Pick<VendorKey, 'id'>): Required<CountedPlaces> {
  return { id: `concurrency vendor-key ${id}`, owner: `vendor-key ${id}` }
}

/** What a key is counted together with: all keys of its user where any limit is of the user, else nothing. */
export function ownerOfKey(
  { id, user }: Pick<Key, 'id' | 'user'>,
  { limitScope, limitsPerUser }: Pick<Group, 'limitScope' | 'limitsPerUser'>,
): string {
  return limitScope === 'user' || limitsPerUser ? `user ${user}` : `key ${id}`
}

/** Jobs of a key that have not ended. */
export function placesOfJobs(key: Pick<Key, 'id' | 'user'>, group: Group): Required<CountedPlaces> {
  return { id: `jobs key ${key.id}`, owner: ownerOfKey(key, group) }
}

/** All that a job takes up whose client does not wait: a place among the jobs of its key, and those of a request in flight. */
export function placesOfJob(key: Pick<Key, 'id' | 'user'>, group: Group): readonly Required<CountedPlaces>[] {
  return [
    placesOfJobs(key, group),
    { id: `concurrency key ${key.id}`, owner: ownerOfKey(key, group) },
    { id: `concurrency user ${key.user}`, owner: `user ${key.user}` },
    placesOfGroup(group.name),
  ]
}

export function placesOfGroup(name: string): Required<CountedPlaces> {
  return { id: `concurrency group ${name}`, owner: `group ${name}` }
}
