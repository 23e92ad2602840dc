import { messageBatchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'

/** Get the results of a batch of messages. */
export const messagesBatchesResults: Operation = {
  name: 'messages.batches.results',
  style: 'anthropic',
  path: '/v1/messages/batches/{id}/results',
  body: 'none',
  words: {
    en: { label: 'Results of a message batch', summary: 'Get the results of a batch of messages' },
    zh: { label: '消息批处理结果', summary: '获取消息批处理的结果' },
  },
  traits: { free: true, object: { of: { kind: messageBatchObject.kind } } },
}
