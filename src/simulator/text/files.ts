import { randomUUID } from 'node:crypto'
import { answerJson } from '../answer.ts'
import { fail } from '../errors.ts'
import { readForm } from '../read-form.ts'
import type { Call, Handler, SimulatedUpstream } from '../upstream.ts'
import { findKept, forget, type Kept, keep } from './kept.ts'
import { messageFiles } from './message-files.ts'

const find = (call: Call): Kept => {
  const { id = '' } = call.params
  const found = findKept(call, 'file', id)
  if (!found) throw fail('object_unknown', { message: `No such File object: ${id}` })
  return found
}

const create: Handler = call => {
  const parts = readForm(call.body, call.headers['content-type'])
  const file = parts.find(({ name }) => name === 'file')
  const purpose = parts.find(({ name }) => name === 'purpose')?.content.toString()
  if (!file) throw fail('missing_required_parameter', { name: 'file' }, { param: 'file' })
  if (!purpose) throw fail('missing_required_parameter', { name: 'purpose' }, { param: 'purpose' })
  const id = `file-${randomUUID().replaceAll('-', '')}`
  const created = Math.floor(call.site.now() / 1000)
  const facts = { bytes: file.content.length, created_at: created, filename: file.fileName ?? 'file', purpose }
  const value = { id, object: 'file', ...facts, status: 'processed' }
  keep(call, id, { kind: 'file', value, input: [file.content] })
  return answerJson(200, value)
}

const remove: Handler = call => {
  find(call)
  const { id = '' } = call.params
  forget(call, id)
  return answerJson(200, { id, object: 'file', deleted: true })
}

/** Both styles use these paths; only requests in the messages style have this header. */
const either =
  (own: Handler, ofMessages: Handler): Handler =>
  call =>
    call.headers['anthropic-version'] === undefined ? own(call) : ofMessages(call)

const content: Handler = call => {
  const [bytes] = find(call).input
  const headers = { 'content-type': 'application/octet-stream' }
  return { status: 200, headers, body: Buffer.isBuffer(bytes) ? bytes : '' }
}

/** Stored files. */
export const files: SimulatedUpstream = {
  'POST /v1/files': either(create, messageFiles.create),
  'GET /v1/files/{id}/content': either(content, messageFiles.content),
  'GET /v1/files/{id}': either(call => answerJson(200, find(call).value), messageFiles.get),
  'DELETE /v1/files/{id}': either(remove, messageFiles.remove),
}
