import { type Body, fieldBytesMax, readField } from './body.ts'
import { defineSlot } from './slots.ts'

/** The images of this exchange are charged: by whoever gives this, under the id that it holds. Given at `onTarget`. */
export const imageChargeSlot = defineSlot<string>('image-charge')

const typeName = 'image_generation'
/** Any character may be written as an escape. */
const escape = '\\u'

/** The id of the charge of what an exchange used beside its images, where these have the request's own id. */
export function useChargeId(id: string): string {
  return `${id}.u`
}

const known = new WeakMap<Body, boolean>()

/**
 * A tool of the request makes images (`docs/billing.md#images-that-tools-make`).
 * @throws Failure field_too_long for more than 4 MiB of tools
 */
export function asksForImageTool(body: Body): boolean {
  let asks = known.get(body)
  if (asks === undefined) {
    asks = mayName(body) && listsImageTool(body)
    known.set(body, asks)
  }
  return asks
}

/** Most lists of tools need no parsing to know that it is not among them, long as they are. */
function mayName(body: Body): boolean {
  const written = body.kind === 'json' ? body.json.raw('tools') : undefined
  if (!written || written.length > fieldBytesMax) return true
  return written.includes(typeName) || written.includes(escape)
}

function listsImageTool(body: Body): boolean {
  const tools = readField(body, 'tools')
  return Array.isArray(tools) && tools.some(tool => isImageTool(tool))
}

function isImageTool(tool: unknown): boolean {
  return typeof tool === 'object' && tool !== null && 'type' in tool && tool.type === typeName
}
