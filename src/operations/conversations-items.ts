import type { Operation } from './operation.ts'

/** Lists the items of a conversation. */
export const conversationsItems: Operation = {
  name: 'conversations.items',
  style: 'openai',
  path: '/v1/conversations/{id}/items',
  body: 'none',
  words: {
    en: { label: 'Items of a conversation', summary: 'List the items of a conversation' },
    zh: { label: '对话的条目', summary: '列出对话的条目' },
  },
  traits: { free: true, object: { of: { kind: 'conversation' } } },
}
