import type { Operation } from './operation.ts'
import { list, object } from './schemas.ts'

/** The operations on stored conversations. */
export const conversationsOperations: readonly Operation[] = [
  {
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
  },
  {
    name: 'conversations.get',
    style: 'openai',
    path: '/v1/conversations/{id}',
    body: 'none',
    words: {
      en: { label: 'Conversation', summary: 'Get a stored conversation' },
      zh: { label: '查询对话', summary: '查询已存储的对话' },
    },
    traits: { free: true, object: { of: { kind: 'conversation' } } },
  },
  {
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
  },
  {
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
  },
  {
    name: 'conversations.items',
    style: 'openai',
    path: '/v1/conversations/{id}/items',
    body: 'none',
    words: {
      en: { label: 'Items of a conversation', summary: 'List the items of a conversation' },
      zh: { label: '对话的条目', summary: '列出对话的条目' },
    },
    traits: { free: true, object: { of: { kind: 'conversation' } } },
  },
  {
    name: 'conversations.items.get',
    style: 'openai',
    path: '/v1/conversations/{id}/items/{item}',
    body: 'none',
    words: {
      en: { label: 'Item of a conversation', summary: 'Get an item of a conversation' },
      zh: { label: '对话的条目详情', summary: '查询对话的一个条目' },
    },
    traits: { free: true, object: { of: { kind: 'conversation' } } },
  },
  // Deletes an item of a conversation, and returns the conversation.
  {
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
  },
  {
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
  },
]
