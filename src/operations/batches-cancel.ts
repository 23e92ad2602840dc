import { batchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'

/** Cancel a batch. */
export const batchesCancel: Operation = {
  name: 'batches.cancel',
  style: 'openai',
  path: '/v1/batches/{id}/cancel',
  method: 'POST',
  body: 'none',
  words: {
    en: { label: 'Cancel a batch', summary: 'Cancel a batch' },
    zh: { label: '取消批处理', summary: '取消批处理' },
  },
  traits: { free: true, object: { of: { kind: 'batch' }, creates: batchObject } },
}
