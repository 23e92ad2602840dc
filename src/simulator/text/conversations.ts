import { randomUUID } from 'node:crypto'
import { answerJson } from '../answer.ts'
import { readFields } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call, Handler, SimulatedUpstream } from '../upstream.ts'
import { findKept, forget, type Kept, keep } from './kept.ts'
import { listOf, shapeOf } from './read.ts'

const find = (call: Call): Kept => {
  const { id = '' } = call.params
  const found = findKept(call, 'conversation', id)
  if (!found) throw fail('object_unknown', { message: `Conversation with id '${id}' not found.` })
  return found
}

const itemsOf = (call: Call): readonly object[] =>
  listOf(readFields(call).get('items')).map(one => ({
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    status: 'completed',
    ...shapeOf(one),
  }))

const create: Handler = call => {
  const id = `conv_${randomUUID().replaceAll('-', '')}`
  const created = Math.floor(call.site.now() / 1000)
  const value = { id, object: 'conversation', created_at: created, metadata: readFields(call).get('metadata') ?? {} }
  keep(call, id, { kind: 'conversation', value, input: itemsOf(call) })
  return answerJson(200, value)
}

const update: Handler = call => {
  const { value, ...rest } = find(call)
  const changed = { ...value, metadata: readFields(call).get('metadata') ?? {} }
  keep(call, call.params['id'] ?? '', { ...rest, value: changed })
  return answerJson(200, changed)
}

const add: Handler = call => {
  const { input, ...rest } = find(call)
  const items = itemsOf(call)
  keep(call, call.params['id'] ?? '', { ...rest, input: [...input, ...items] })
  return answerJson(200, { object: 'list', data: items, has_more: false })
}

const findItem = (call: Call): object => {
  const { item = '' } = call.params
  const found = find(call).input.find(one => shapeOf(one)['id'] === item)
  if (!found) throw fail('object_unknown', { message: `Item with id '${item}' not found.` })
  return shapeOf(found)
}

const removeItem: Handler = call => {
  const gone = findItem(call)
  const { input, ...rest } = find(call)
  keep(call, call.params['id'] ?? '', { ...rest, input: input.filter(one => one !== gone) })
  return answerJson(200, rest.value)
}

const remove: Handler = call => {
  find(call)
  const { id = '' } = call.params
  forget(call, id)
  return answerJson(200, { id, object: 'conversation.deleted', deleted: true })
}

/** Stored conversations. */
export const conversations: SimulatedUpstream = {
  'POST /v1/conversations': create,
  'GET /v1/conversations/{id}/items': call =>
    answerJson(200, { object: 'list', data: find(call).input, has_more: false }),
  'POST /v1/conversations/{id}/items': add,
  'GET /v1/conversations/{id}/items/{item}': call => answerJson(200, findItem(call)),
  'DELETE /v1/conversations/{id}/items/{item}': removeItem,
  'GET /v1/conversations/{id}': call => answerJson(200, find(call).value),
  'POST /v1/conversations/{id}': update,
  'DELETE /v1/conversations/{id}': remove,
}
