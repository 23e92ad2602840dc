import type { Operation } from './operation.ts'

/** Returns a stored response or streams its events. */
export const responsesGet: Operation = {
  name: 'responses.get',
  style: 'openai',
  path: '/v1/responses/{id}',
  body: 'none',
  words: {
    en: { label: 'Stored response', summary: 'Get a stored response' },
    zh: { label: '查询响应', summary: '查询已存储的响应' },
  },
  usage: { inside: 'response' },
  traits: { free: true, object: { of: { kind: 'response' } } },
}
