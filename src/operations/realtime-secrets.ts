import type { Operation } from './operation.ts'
import { curl } from './samples.ts'
import { object } from './schemas.ts'

/** Creates a client secret for a browser. The key that creates it pays. The gateway answers. */
export const realtimeSecrets: Operation = {
  name: 'realtime.secrets',
  modelsOf: 'realtime',
  style: 'openai',
  path: '/v1/realtime/client_secrets',
  body: 'json',
  words: {
    en: { label: 'Client secret', summary: 'Create a short-lived secret for realtime sessions in a browser' },
    zh: { label: '客户端密钥', summary: '为浏览器的实时会话创建短期密钥' },
  },
  fields: {
    session: {
      schema: object,
      required: true,
      en: 'Session settings; `model` is required.',
      zh: '会话设置；必须包含 `model`。',
    },
    expires_after: {
      schema: object,
      en: '{ "anchor": "created_at", "seconds": 600 }; 10 to 7200 seconds.',
      zh: '{ "anchor": "created_at", "seconds": 600 }；10 至 7200 秒。',
    },
  },
  samples: call => [curl(call, { session: { type: 'realtime', model: call.model } })],
  traits: { free: true },
}
