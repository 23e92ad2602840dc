import type { Operation } from './operation.ts'
import { curl } from './samples.ts'
import { object } from './schemas.ts'

/** Creates a client secret for a browser. The key that creates it pays. The gateway answers. */
export const realtimeSecrets: Operation = {
  name: 'realtime.secrets',
  style: 'openai',
  path: '/v1/realtime/client_secrets',
  body: 'json',
  words: {
    en: { label: 'Client secret', summary: 'Make a short-lived secret for realtime sessions of a browser' },
    zh: { label: '客户端密钥', summary: '为浏览器的实时会话创建短期密钥' },
  },
  fields: {
    session: {
      schema: object,
      required: true,
      en: 'The session; `model` names its model.',
      zh: '会话；`model` 为其模型名称。',
    },
    expires_after: {
      schema: object,
      en: '{ "anchor": "created_at", "seconds": 600 }: from 10 to 7200.',
      zh: '{ "anchor": "created_at", "seconds": 600 }：取值 10 至 7200。',
    },
  },
  samples: call => [curl(call, { session: { type: 'realtime', model: call.model } })],
  traits: { free: true },
}
