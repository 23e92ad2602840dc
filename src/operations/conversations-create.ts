import type { Operation } from './operation.ts'
import { list, object } from './schemas.ts'

/** Creates a conversation that responses can continue. */
export const conversationsCreate: Operation = {
  name: 'conversations.create',
  style: 'openai',
  path: '/v1/conversations',
  body: 'json',
  words: {
    en: { label: 'New conversation', summary: 'Create a stored conversation' },
    zh: { label: '新建对话', summary: '创建存储的对话' },
  },
  fields: {
    items: { schema: list, en: 'Items of the conversation.', zh: '对话的条目。' },
    metadata: { schema: object, en: 'Your metadata for the conversation.', zh: '自定义的元数据。' },
  },
  traits: { answersObject: true, free: true, object: { creates: { kind: 'conversation' }, namesNoModel: true } },
}
