import type { Operation } from './operation.ts'

/** Cancels a background response. */
export const responsesCancel: Operation = {
  name: 'responses.cancel',
  style: 'openai',
  path: '/v1/responses/{id}/cancel',
  method: 'POST',
  body: 'none',
  words: {
    en: { label: 'Cancel a response', summary: 'Cancel a background response' },
    zh: { label: '取消响应', summary: '取消后台响应' },
  },
  traits: { free: true, object: { of: { kind: 'response' } } },
}
