import { batchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'

/** List the batches of your key. */
export const batchesList: Operation = {
  name: 'batches.list',
  style: 'openai',
  path: '/v1/batches',
  body: 'none',
  words: {
    en: { label: 'Batches', summary: 'List the batches of your key' },
    zh: { label: '批处理列表', summary: '列出你的令牌创建的批处理' },
  },
  traits: { free: true, object: { lists: { kind: batchObject.kind } } },
}
