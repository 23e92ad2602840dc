import { type Body, readField } from './body.ts'
import { defineSlot } from './slots.ts'

/** The images of this exchange are charged: by whoever gives this, under the id that it holds. Given at `onTarget`. */
export const imageChargeSlot = defineSlot<string>('image-charge')

/** The id of the charge of what an exchange used beside its images, where these have the request's own id. */
export function useChargeId(id: string): string {
  return `${id}.u`
}

/** A tool of the request makes images (decision 25). */
export function asksForImageTool(body: Body): boolean {
  const tools = readField(body, 'tools')
  return Array.isArray(tools) && tools.some(tool => isImageTool(tool))
}

function isImageTool(tool: unknown): boolean {
  return typeof tool === 'object' && tool !== null && 'type' in tool && tool.type === 'image_generation'
}
