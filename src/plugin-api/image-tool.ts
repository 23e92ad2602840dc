import type { Body } from '../domain/body.ts'
import type { DeclaredTool } from '../domain/declared.ts'
import { defineSlot } from '../domain/slots.ts'

/**
 * The images of this request are charged by the plugin that puts this slot at `onTarget`, under the contained id.
 * @deprecated Declare `chargesItems` instead.
 */
export const imageChargeSlot = defineSlot<string>('image-charge')

/** How many images the response has had so far. The plugin that charges them puts it once the request is admitted. */
export const imagesMadeSlot = defineSlot<() => number>('images-made')

/** The id of the charge for usage other than images, if the charge for the images has the request's own id. */
export function useChargeId(id: string): string {
  return `${id}.u`
}

/** A tool of the request that makes images, however it is declared (`docs/price-rules.md#image-tools`). */
export function imageToolOf(body: Body): DeclaredTool | undefined {
  return body.kind === 'json' ? body.json.declared.tools.find(({ draws }) => draws) : undefined
}
