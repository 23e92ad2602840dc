import type { Operation } from './operation.ts'
import { list } from './schemas.ts'

/** Adds items to a conversation. */
export const conversationsAdd: Operation = {
  name: 'conversations.add',
  style: 'openai',
  path: '/v1/conversations/{id}/items',
  body: 'json',
  words: {
    en: { label: 'Add to a conversation', summary: 'Add items to a conversation' },
    zh: { label: '添加条目', summary: '向对话添加条目' },
  },
  fields: {
    items: { schema: list, en: 'Items of the conversation.', zh: '对话的条目。' },
  },
  traits: { free: true, object: { of: { kind: 'conversation' } } },
}
