import type { Operation } from './operation.ts'

/** Deletes a stored response. */
export const responsesDelete: Operation = {
  name: 'responses.delete',
  style: 'openai',
  path: '/v1/responses/{id}',
  method: 'DELETE',
  body: 'none',
  words: {
    en: { label: 'Delete a response', summary: 'Delete a stored response' },
    zh: { label: '删除响应', summary: '删除已存储的响应' },
  },
  traits: { free: true, object: { of: { kind: 'response', ends: true } } },
}
