import { answerJson } from '../answer.ts'
import { fail } from '../errors.ts'
import type { Call, Handler, SimulatedUpstream } from '../upstream.ts'
import { readFields } from '../request-fields.ts'
import { findKept, forget, type Kept, keep } from './kept.ts'
import { writeNamedRecord } from './perform.ts'
import { countWords, shapeOf, textOf } from './read.ts'

const find = (call: Call): Kept => {
  const { id = '' } = call.params
  const found = findKept(call, 'response', id)
  if (!found) throw fail('object_unknown', { message: `Response with id '${id}' not found.` })
  return found
}

/** Returns the stored response, or its events again for a stream. */
const get: Handler = call => {
  const { value } = find(call)
  if (call.query.get('stream') !== 'true') return answerJson(200, value)
  const events = ['response.created', `response.${String(value['status'])}`]
  const after = Number(call.query.get('starting_after') ?? -1)
  const all = events.map((type, i) => ({ type, response: value, sequence_number: i }))
  const text = all.filter(({ sequence_number: at }) => at > after).map(writeNamedRecord)
  return { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body: text.join('') }
}

const items: Handler = call => {
  const { input } = find(call)
  const data = input.map((one, i) => {
    const shape = typeof one === 'string' ? { type: 'message', role: 'user', content: one } : shapeOf(one)
    return { id: `msg_in_${i}`, ...shape }
  })
  return answerJson(200, { object: 'list', data, has_more: false })
}

const remove: Handler = call => {
  find(call)
  const { id = '' } = call.params
  forget(call, id)
  return answerJson(200, { id, object: 'response', deleted: true })
}

const cancel: Handler = call => {
  const { value, ...rest } = find(call)
  const { id = '' } = call.params
  if (value['background'] !== true) throw fail('not_cancellable')
  const isOver = value['status'] !== 'queued' && value['status'] !== 'in_progress'
  const ended = isOver ? value : { ...value, status: 'cancelled' }
  keep(call, id, { kind: rest.kind, input: rest.input, value: ended })
  return answerJson(200, ended)
}

const tokens: Handler = call => {
  const input = countWords(textOf(readFields(call).get('input') ?? ''))
  return answerJson(200, { object: 'response.input_tokens', input_tokens: input })
}

const compact: Handler = call => {
  const input = countWords(textOf(readFields(call).get('input') ?? ''))
  const item = { id: 'cmp_1', type: 'compaction', encrypted_content: 'compacted' }
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + 3,
  }
  return answerJson(200, { id: 'cmpct_1', object: 'response.compaction', created_at: 1, output: [item], usage })
}

/** Stored responses. */
export const storedResponses: SimulatedUpstream = {
  'POST /v1/responses/input_tokens': tokens,
  'POST /v1/responses/compact': compact,
  'POST /v1/responses/{id}/cancel': cancel,
  'GET /v1/responses/{id}/input_items': items,
  'GET /v1/responses/{id}': get,
  'DELETE /v1/responses/{id}': remove,
}
