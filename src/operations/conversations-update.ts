import type { Operation } from './operation.ts'
import { object } from './schemas.ts'

/** Updates the metadata of a conversation. */
export const conversationsUpdate: Operation = {
  name: 'conversations.update',
  style: 'openai',
  path: '/v1/conversations/{id}',
  body: 'json',
  words: {
    en: { label: 'Change a conversation', summary: 'Change the notes on a conversation' },
    zh: { label: '修改对话', summary: '修改对话的备注' },
  },
  fields: {
    metadata: { schema: object, en: 'Notes of yours on it.', zh: '自定义的备注。' },
  },
  traits: { free: true, object: { of: { kind: 'conversation' } } },
}
