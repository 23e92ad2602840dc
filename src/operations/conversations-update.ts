import type { Operation } from './operation.ts'
import { object } from './schemas.ts'

/** Updates the metadata of a conversation. */
export const conversationsUpdate: Operation = {
  name: 'conversations.update',
  style: 'openai',
  path: '/v1/conversations/{id}',
  body: 'json',
  words: {
    en: { label: 'Update a conversation', summary: 'Update the metadata of a conversation' },
    zh: { label: '更新对话', summary: '更新对话的元数据' },
  },
  fields: {
    metadata: { schema: object, en: 'Your metadata for the conversation.', zh: '自定义的元数据。' },
  },
  traits: { free: true, object: { of: { kind: 'conversation' } } },
}
