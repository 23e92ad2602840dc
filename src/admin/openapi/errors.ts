import type { SchemaObject } from './types.ts'

const text = { type: 'string' }
const textOrNull = { type: ['string', 'null'] }
const whole = { type: 'integer' }

function object(properties: { readonly [name: string]: SchemaObject }, optional: readonly string[] = []): SchemaObject {
  return { type: 'object', required: Object.keys(properties).filter(name => !optional.includes(name)), properties }
}

const openai = object({ error: object({ message: text, type: text, param: textOrNull, code: textOrNull }) })
const anthropic = object({ type: { const: 'error' }, error: object({ type: text, message: text }), request_id: text })
const google = object({
  error: object({ code: whole, message: text, status: text, details: { type: 'array', items: { type: 'object' } } }),
})
const cohere = object({ message: text, id: text })
const elevenlabs = object({
  detail: object({ type: text, code: text, status: text, message: text, param: textOrNull, request_id: text }),
})
const console = object({
  error: object(
    { code: text, message: text, field: textOrNull, request_id: text, reason: text, values: { type: 'object' } },
    ['reason', 'values'],
  ),
})

/** The shape of an error in every API format, by name; `by-caller` is the format of the client. */
export const errorShapes: { readonly [dialect: string]: SchemaObject } = {
  openai,
  anthropic,
  google,
  cohere,
  elevenlabs,
  'by-caller': { anyOf: [openai, anthropic, google, elevenlabs] },
  console,
}
