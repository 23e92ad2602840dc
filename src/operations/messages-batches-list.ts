import { messageBatchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'

/** List the batches of messages of your key. */
export const messagesBatchesList: Operation = {
  name: 'messages.batches.list',
  style: 'anthropic',
  path: '/v1/messages/batches',
  body: 'none',
  words: {
    en: { label: 'Message batches', summary: 'List the batches of messages of your key' },
    zh: { label: '消息批处理列表', summary: '列出你的令牌创建的消息批处理' },
  },
  traits: { free: true, object: { lists: { kind: messageBatchObject.kind } } },
}
