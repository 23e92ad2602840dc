import type { Operation } from './operation.ts'

/** Cancels a background response. */
export const responsesCancel: Operation = {
  name: 'responses.cancel',
  style: 'openai',
  path: '/v1/responses/{id}/cancel',
  method: 'POST',
  body: 'none',
  words: {
    en: { label: 'Cancel a response', summary: 'End a response that is made in the background' },
    zh: { label: '取消响应', summary: '结束在后台生成的响应' },
  },
  traits: { free: true, object: { of: { kind: 'response' } } },
}
