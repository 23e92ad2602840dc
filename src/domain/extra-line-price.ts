import type { ChargeItemRule } from './charge.ts'
import type { Micros } from '../util/units.ts'

/** A price of an item that is charged in addition to images. */
export type ExtraLinePrice = {
  readonly name: string
  /** The counted unit: `input_image`, `request`, `megapixel`, `step`, `second`, `token`. */
  readonly per: ChargeItemRule['per']
  /** The quantity that the price is for: pixels of a megapixel, milliseconds of a second. */
  readonly unit: number
  readonly price: Micros
  /** `file:line` of the price. */
  readonly at: string
  /** Once for the request, or with every image. */
  readonly once: boolean
}
