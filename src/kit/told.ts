import { defineSlot } from './slots.ts'

/**
 * What an answer says of itself, as far as it has been read. Whoever reads the upstream's own words fills it before the
 * bytes that complete what it is about go on.
 */
export type Told = {
  /** Width and height in pixels, by the place of a picture among those of the answer. */
  readonly sizes: Map<number, { readonly width: number; readonly height: number }>
  /** By the names that the family's description gives them. */
  readonly facts: Map<string, string | number | boolean>
  /** How many pictures the vendor counts; undefined where it does not say. */
  count: number | undefined
  /** What the vendor says that it charges, as a decimal in the currency; undefined where it does not say. */
  cost: string | undefined
  /** The answer is a refusal that is charged, by this name in the model's prices. */
  refusalPrice: string | undefined
}

export const toldSlot = defineSlot<Told>('told')

export function createTold(): Told {
  return { sizes: new Map(), facts: new Map(), count: undefined, cost: undefined, refusalPrice: undefined }
}
