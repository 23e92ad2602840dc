import type { LimitRequest } from '../../../domain/index.ts'

/** Demands whose counters are in one slot. */
export type Part = {
  readonly tag: string
  readonly demands: readonly LimitRequest[]
  /** The index of each among all demands; undefined for all. */
  readonly places?: readonly number[]
}

/** In one slot every request is one step on one node; the same keys since the first version, wherever there is one node. */
export const tagOfAll = '{tollgate}'

const slotCount = 16_384

/** The hash tag of the counters of an owner: one owner, one slot. */
export function tagOf(owner: string | undefined): string {
  // What follows a brace within it is not hashed, and is in the key all the same.
  return `{tollgate:${owner ?? ''}}`
}

/** The slot of a hash tag, as the specification of Redis Cluster has it: CRC-16/XMODEM of what is within the braces. */
export function slotOf(tag: string): number {
  let crc = 0
  for (const byte of Buffer.from(tag.slice(1, tag.indexOf('}')))) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021
    crc &= 0xffff
  }
  return crc % slotCount
}

/** The demands by slot, in the order in which each slot comes up. */
export function partsOf(demands: readonly LimitRequest[]): readonly [Part, ...Part[]] {
  const parts = new Map<string, { tag: string; demands: LimitRequest[]; places: number[] }>()
  for (const [place, demand] of demands.entries()) {
    const tag = tagOf(demand.owner)
    const part = parts.get(tag)
    if (!part) parts.set(tag, { tag, demands: [demand], places: [place] })
    else {
      part.demands.push(demand)
      part.places.push(place)
    }
  }
  const [first, ...others] = parts.values()
  return [first ?? { tag: tagOfAll, demands }, ...others]
}
