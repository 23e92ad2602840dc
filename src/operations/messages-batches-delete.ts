import { messageBatchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'

/** Delete a batch of messages. */
export const messagesBatchesDelete: Operation = {
  name: 'messages.batches.delete',
  style: 'anthropic',
  path: '/v1/messages/batches/{id}',
  method: 'DELETE',
  body: 'none',
  words: {
    en: { label: 'Delete a message batch', summary: 'Delete a batch of messages' },
    zh: { label: '删除消息批处理', summary: '删除消息批处理' },
  },
  traits: { free: true, object: { of: { kind: messageBatchObject.kind, ends: true } } },
}
