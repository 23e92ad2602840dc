import { randomUUID } from 'node:crypto'
import { answerJson } from '../answer.ts'
import { fail } from '../errors.ts'
import { readForm } from '../read-form.ts'
import type { Call, Handler } from '../upstream.ts'
import { findKept, forget, type Kept, keep } from './kept.ts'
import { anthropicStyle } from './styles.ts'
import { styled } from './styled.ts'

const find = (call: Call): Kept => {
  const { id = '' } = call.params
  const found = findKept(call, 'file', id)
  if (!found) throw fail('object_unknown', { message: `File not found: ${id}` })
  return found
}

const create: Handler = call => {
  const file = readForm(call.body, call.headers['content-type']).find(({ name }) => name === 'file')
  if (!file) throw fail('missing_required_parameter', { name: 'file' }, { param: 'file' })
  const id = `file_${randomUUID().replaceAll('-', '')}`
  const facts = { filename: file.fileName ?? 'file', mime_type: file.contentType ?? 'application/octet-stream' }
  const made = { created_at: new Date(call.site.now()).toISOString(), size_bytes: file.content.length }
  const value = { id, type: 'file', ...facts, ...made, downloadable: true }
  keep(call, id, { kind: 'file', value, input: [file.content] })
  return answerJson(200, value)
}

const remove: Handler = call => {
  find(call)
  const { id = '' } = call.params
  forget(call, id)
  return answerJson(200, { id, type: 'file_deleted' })
}

/** Stored files in the messages style, at the same paths as those in the chat-completions style. */
export const messageFiles = {
  create: styled(anthropicStyle, create),
  get: styled(anthropicStyle, call => answerJson(200, find(call).value)),
  content: styled(anthropicStyle, call => {
    const [content] = find(call).input
    const headers = { 'content-type': 'application/octet-stream' }
    return { status: 200, headers, body: Buffer.isBuffer(content) ? content : '' }
  }),
  remove: styled(anthropicStyle, remove),
} as const satisfies { readonly [name: string]: Handler }
