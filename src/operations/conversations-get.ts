import type { Operation } from './operation.ts'

/** Returns a conversation. */
export const conversationsGet: Operation = {
  name: 'conversations.get',
  style: 'openai',
  path: '/v1/conversations/{id}',
  body: 'none',
  words: {
    en: { label: 'Conversation', summary: 'Get a stored conversation' },
    zh: { label: '查询对话', summary: '查询已存储的对话' },
  },
  traits: { free: true, object: { of: { kind: 'conversation' } } },
}
