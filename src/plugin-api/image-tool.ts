import type { Body } from '../domain/body.ts'
import type { DeclaredTool } from '../domain/declared.ts'
import type { Failure } from '../domain/errors.ts'
import { defineSlot } from '../domain/slots.ts'

/**
 * The plugin that sets this slot at `onTarget` charges the images of this request, under the id in it.
 * @deprecated Declare `chargesItems` instead.
 */
export const imageChargeSlot = defineSlot<string>('image-charge')

/** The number of images in the response so far. The plugin that charges them sets it once the request is admitted. */
export const imagesMadeSlot = defineSlot<() => number>('images-made')

/**
 * Set if the API format of the client cannot carry an image. Returns the failure of an answer with one, whose image
 * costs nothing.
 */
export const imageRefusalSlot = defineSlot<() => Failure>('image-refusal')

/** The id of the charge for usage other than images, if the charge for the images has the request's own id. */
export function useChargeId(id: string): string {
  return `${id}${useSuffix}`
}

/** The suffix of such ids. */
export const useSuffix = '.u'

/** The id of the request of a charge. */
export function requestOfCharge(chargeId: string): string {
  return chargeId.endsWith(useSuffix) ? chargeId.slice(0, -useSuffix.length) : chargeId
}

/** A tool of the request that creates images, regardless of its declaration (`docs/price-rules.md#image-tools`). */
export function imageToolOf(body: Body): DeclaredTool | undefined {
  return body.kind === 'json' ? body.json.declared.tools.find(({ draws }) => draws) : undefined
}
