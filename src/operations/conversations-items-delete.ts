import type { Operation } from './operation.ts'

/** Deletes an item of a conversation, and returns the conversation. */
export const conversationsItemsDelete: Operation = {
  name: 'conversations.items.delete',
  style: 'openai',
  path: '/v1/conversations/{id}/items/{item}',
  method: 'DELETE',
  body: 'none',
  words: {
    en: { label: 'Delete an item of a conversation', summary: 'Delete an item of a conversation' },
    zh: { label: '删除对话的条目', summary: '删除对话的一个条目' },
  },
  traits: { free: true, object: { of: { kind: 'conversation' } } },
}
