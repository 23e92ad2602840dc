import type { LimitRequest } from './counters.ts'
import type { VendorKey } from './model.ts'

/** By what names requests in flight are counted, and whose limits those are. */
export type CountedPlaces = Pick<LimitRequest, 'id' | 'owner'>

export function placesOfUpstream(name: string): Required<CountedPlaces> {
  return { id: `concurrency upstream ${name}`, owner: `upstream ${name}` }
}

export function placesOfKey({ id }: Pick<VendorKey, 'id'>): Required<CountedPlaces> {
  return { id: `concurrency vendor-key ${id}`, owner: `vendor-key ${id}` }
}

export function placesOfGroup(name: string): Required<CountedPlaces> {
  return { id: `concurrency group ${name}`, owner: `group ${name}` }
}
