import { batchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'

/** Get a batch. */
export const batchesGet: Operation = {
  name: 'batches.get',
  style: 'openai',
  path: '/v1/batches/{id}',
  body: 'none',
  words: {
    en: { label: 'Batch', summary: 'Get a batch' },
    zh: { label: '查询批处理', summary: '查询批处理的状态' },
  },
  traits: { free: true, object: { of: { kind: 'batch' }, creates: batchObject } },
}
