import type { Family } from '../domain/model.ts'
import { defineSlot } from '../domain/slots.ts'
import { membersOf } from '../util/index.ts'

/**
 * The metadata of a response that has been read so far. The plugin that parses the upstream's format fills it before it
 * passes on the bytes that complete a picture.
 */
export type ResponseMetadata = {
  /** Width and height in pixels, by the picture's position in the response. */
  readonly sizes: Map<number, { readonly width: number; readonly height: number }>
  /** The first bytes of a linked picture, by its position, from which its size in pixels is read. */
  readonly heads: Map<number, Buffer>
  /** By the names in the family's description. */
  readonly facts: Map<string, string | number | boolean>
  /** If several responses are merged: the metadata of the response with a picture, by the picture's position. */
  readonly factsAt: Map<number, ReadonlyMap<string, string | number | boolean>>
  /** The number of pictures that the vendor counts; undefined if it reports none. */
  count: number | undefined
  /** The vendor's reported cost, as a decimal in the currency; undefined if it reports none. */
  cost: string | undefined
  /** For a refusal that is charged: the name of its price in the model's prices. */
  refusalPrice: string | undefined
  /** Parts of the response that may be pictures and were not delivered; for the log. */
  omitted: string | undefined
  /** The whole response if it is short and has no picture: the charging plugin decides whether it may contain one. */
  foreign: Buffer | undefined
}

export const responseMetadataSlot = defineSlot<ResponseMetadata>('told')

export function createResponseMetadata(): ResponseMetadata {
  return {
    sizes: new Map(),
    heads: new Map(),
    facts: new Map(),
    factsAt: new Map(),
    count: undefined,
    cost: undefined,
    refusalPrice: undefined,
    omitted: undefined,
    foreign: undefined,
  }
}

/** Names in the responses of a family that prices may depend on. */
export type MetadataNames = {
  /** Names of facts. */
  readonly facts: ReadonlySet<string>
  /** Names of prices of refusals. */
  readonly refusals: ReadonlySet<string>
  /** Whether several responses are merged into one: `fan_out`. */
  readonly areSeveral: boolean
}

const known = new WeakMap<Family, MetadataNames>()

/**
 * The names that responses of a family may report, from its sections. A plugin that fills `ResponseMetadata` has
 * `facts` (by name), `refused` (a list, with `charge`) and `fan_out` in its section, at the top or by operation in
 * `per_operation`. Prices do not depend on other facts.
 */
export function metadataNames(family: Family): MetadataNames {
  let names = known.get(family)
  if (!names) {
    const tops = [...family.facets.values()]
    const places = [...tops, ...tops.flatMap(top => Object.values(membersOf(membersOf(top)['per_operation'])))]
    const refused = places.flatMap(place => membersOf(place)['refused'] ?? [])
    const charges = refused.map(one => membersOf(one)['charge'])
    names = {
      facts: new Set(places.flatMap(place => Object.keys(membersOf(membersOf(place)['facts'])))),
      refusals: new Set(charges.filter(charge => typeof charge === 'string')),
      areSeveral: places.some(place => membersOf(place)['fan_out'] !== undefined),
    }
    known.set(family, names)
  }
  return names
}

/** The size that a section of the family sends by default: `values.width.absent` and `values.height.absent`. */
export function defaultSize(family: Family): { readonly width: number; readonly height: number } | undefined {
  for (const section of family.facets.values()) {
    const values = membersOf(membersOf(section)['values'])
    const [width, height] = ['width', 'height'].map(side => membersOf(values[side])['absent'])
    if (typeof width === 'number' && typeof height === 'number') return { width, height }
  }
  return undefined
}
