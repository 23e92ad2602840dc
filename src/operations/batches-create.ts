import { batchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'
import { text } from './schemas.ts'

/** Runs the requests of an uploaded file within a day, at batch prices. */
export const batchesCreate: Operation = {
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
    completion_window: { schema: text, required: true, en: '`24h`.', zh: '24h。' },
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
        facts: { service_tier: 'batch' },
      },
    },
  },
}
