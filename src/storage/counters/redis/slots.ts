import type { LimitRequest } from '../../../domain/index.ts'

/** Demands whose counters are in one Redis slot. */
export type Part = {
  readonly tag: string
  readonly demands: readonly LimitRequest[]
  /** The index of each among all demands; undefined if the part has all. */
  readonly places?: readonly number[]
}

/**
 * In one Redis slot every request is one step on one node; with one node the keys are the same as in the first version.
 */
export const tagOfAll = '{tollgate}'

const slotCount = 16_384

/** The hash tag of the counters of an owner: one owner, one Redis slot. */
export function tagOf(owner: string | undefined): string {
  // Redis does not hash the text after a closing brace, but it remains in the key.
  return `{tollgate:${owner ?? ''}}`
}

/**
 * The slot of a hash tag, as the specification of Redis Cluster defines it: CRC-16/XMODEM of the text within the
 * braces.
 */
export function slotOf(tag: string): number {
  let crc = 0
  for (const byte of Buffer.from(tag.slice(1, tag.indexOf('}')))) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021
    crc &= 0xffff
  }
  return crc % slotCount
}

/** The demands by Redis slot, in order of first appearance. */
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
