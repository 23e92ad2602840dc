import type { Operation } from './operation.ts'

/** Returns a stored response or streams its events. */
export const responsesGet: Operation = {
  name: 'responses.get',
  style: 'openai',
  path: '/v1/responses/{id}',
  body: 'none',
  words: {
    en: { label: 'Stored response', summary: 'Fetch a response that the upstream keeps' },
    zh: { label: '查询响应', summary: '取回上游保存的响应' },
  },
  usage: { inside: 'response' },
  traits: { free: true, object: { of: { kind: 'response' } } },
}
