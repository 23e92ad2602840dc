import type { Operation } from './operation.ts'

/** Lists the input items of a stored response. */
export const responsesItems: Operation = {
  name: 'responses.items',
  style: 'openai',
  path: '/v1/responses/{id}/input_items',
  body: 'none',
  words: {
    en: { label: 'Input of a response', summary: 'List the input items of a stored response' },
    zh: { label: '响应的输入', summary: '列出已存储响应的输入项' },
  },
  traits: { free: true, object: { of: { kind: 'response' } } },
}
