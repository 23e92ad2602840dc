import type { Operation } from './operation.ts'

/** Returns an item of a conversation. */
export const conversationsItemsGet: Operation = {
  name: 'conversations.items.get',
  style: 'openai',
  path: '/v1/conversations/{id}/items/{item}',
  body: 'none',
  words: {
    en: { label: 'Item of a conversation', summary: 'Get an item of a conversation' },
    zh: { label: '对话的条目详情', summary: '查询对话的一个条目' },
  },
  traits: { free: true, object: { of: { kind: 'conversation' } } },
}
