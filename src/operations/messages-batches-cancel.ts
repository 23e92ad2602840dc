import { messageBatchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'

/** Cancel a batch of messages. */
export const messagesBatchesCancel: Operation = {
  name: 'messages.batches.cancel',
  style: 'anthropic',
  path: '/v1/messages/batches/{id}/cancel',
  method: 'POST',
  body: 'none',
  words: {
    en: { label: 'Cancel a message batch', summary: 'Cancel a batch of messages' },
    zh: { label: '取消消息批处理', summary: '取消消息批处理' },
  },
  traits: { free: true, object: { of: { kind: 'message batch' }, creates: messageBatchObject } },
}
