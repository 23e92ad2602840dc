import { messageBatchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'

/** Get a batch of messages. */
export const messagesBatchesGet: Operation = {
  name: 'messages.batches.get',
  style: 'anthropic',
  path: '/v1/messages/batches/{id}',
  body: 'none',
  words: {
    en: { label: 'Message batch', summary: 'Get a batch of messages' },
    zh: { label: '查询消息批处理', summary: '查询消息批处理的状态' },
  },
  traits: { free: true, object: { of: { kind: 'message batch' }, creates: messageBatchObject } },
}
