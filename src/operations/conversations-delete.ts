import type { Operation } from './operation.ts'

/** Deletes a conversation. */
export const conversationsDelete: Operation = {
  name: 'conversations.delete',
  style: 'openai',
  path: '/v1/conversations/{id}',
  method: 'DELETE',
  body: 'none',
  words: {
    en: { label: 'Delete a conversation', summary: 'Delete a stored conversation' },
    zh: { label: '删除对话', summary: '删除已存储的对话' },
  },
  traits: { free: true, object: { of: { kind: 'conversation', ends: true } } },
}
