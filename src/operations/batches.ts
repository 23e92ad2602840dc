import { batchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'
import { text } from './schemas.ts'

/** The operations on batches in OpenAI's format. */
export const batchesOperations: readonly Operation[] = [
  // Runs the requests of an uploaded file within a day, at batch prices.
  {
    name: 'batches.create',
    style: 'openai',
    path: '/v1/batches',
    body: 'json',
    words: {
      en: { label: 'Create a batch', summary: 'Run the requests of a file within a day' },
      zh: { label: '创建批处理', summary: '在一天内运行文件中的全部请求' },
    },
    fields: {
      input_file_id: {
        schema: text,
        required: true,
        en: 'The id of a file that was uploaded with `purpose: batch`.',
        zh: '以 purpose: batch 上传的文件的 ID。',
      },
      endpoint: {
        schema: text,
        required: true,
        en: 'The path of all requests, such as `/v1/chat/completions`.',
        zh: '全部请求的路径，例如 /v1/chat/completions。',
      },
      completion_window: { schema: text, required: true, en: 'Time for the batch: always `24h`.', zh: '24h。' },
    },
    traits: {
      answersObject: true,
      object: { creates: batchObject, namesNoModel: true },
      deferred: {
        state: 'status',
        ended: ['completed', 'failed', 'expired', 'cancelled'],
        whole: ['completed'],
        poll: 'batches.get',
        everyMs: 1_000,
        mostMs: 60_000,
        hours: 72,
        batch: {
          requests: {
            file: 'input_file_id',
            operation: 'files.content',
            body: 'body',
            path: 'endpoint',
            linePath: 'url',
          },
          results: { operation: 'files.content', files: ['output_file_id', 'error_file_id'] },
          response: ['response', 'body'],
          status: ['response', 'status_code'],
          succeeded: ['request_counts', 'completed'],
          facts: { service_tier: 'batch' },
        },
      },
    },
  },
  {
    name: 'batches.list',
    style: 'openai',
    path: '/v1/batches',
    body: 'none',
    words: {
      en: { label: 'Batches', summary: 'List the batches of your key' },
      zh: { label: '批处理列表', summary: '列出你的令牌创建的批处理' },
    },
    traits: { free: true, object: { lists: { kind: batchObject.kind } } },
  },
  {
    name: 'batches.get',
    style: 'openai',
    path: '/v1/batches/{id}',
    body: 'none',
    words: {
      en: { label: 'Batch', summary: 'Get a batch' },
      zh: { label: '查询批处理', summary: '查询批处理的状态' },
    },
    traits: { free: true, object: { of: { kind: 'batch' }, creates: batchObject } },
  },
  {
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
  },
]
