import type { Json } from '../domain/index.ts'
import type { MessageFormat } from '../plugin-api/index.ts'
import { readMember } from './read-members.ts'

/** Responses over a WebSocket. A message is a request body; the response is sent as the events of its stream. */
export const openaiMessages: MessageFormat = {
  readRequest(message) {
    const { type, stream_id: lane, generate, background: _background, ...body } = message
    if (type !== 'response.create') return { kind: 'unknown', name: typeof type === 'string' ? type : '' }
    const { previous_response_id: before, ...rest } = body
    return {
      kind: 'request',
      lane: typeof lane === 'string' ? lane : undefined,
      before: typeof before === 'string' ? before : undefined,
      isStored: body['store'] !== false,
      isWarmUp: generate === false,
      body: { ...body, stream: true },
      completed: items => ({ ...rest, input: [...items, ...itemsOf(body['input'])], stream: true }),
      items: itemsOf(body['input']),
    }
  },

  readEnd(event) {
    if (event['type'] !== 'response.completed') return undefined
    const response = event['response']
    const id = readMember(response, 'id')
    const output = readMember(response, 'output')
    return typeof id === 'string' ? { id, items: Array.isArray(output) ? (output as readonly Json[]) : [] } : undefined
  },

  warmUp(id, body) {
    const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
    const response = { id, object: 'response', model: body['model'] ?? null, output: [], error: null }
    return [
      { type: 'response.created', response: { ...response, status: 'in_progress' } },
      { type: 'response.completed', response: { ...response, status: 'completed', usage } },
    ]
  },

  error({ status, type, code, message, param }) {
    return { type: 'error', status, error: { type, code, message, param } }
  },

  onLane: (event, lane) => ({ ...event, stream_id: lane }),
}

/** Input items. A text becomes a user message. */
function itemsOf(input: Json | undefined): readonly Json[] {
  if (Array.isArray(input)) return input as readonly Json[]
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : []
}
