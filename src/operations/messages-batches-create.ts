import { messageBatchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'
import { curl, hello } from './samples.ts'

/** Runs many messages within a day, at batch prices. */
export const messagesBatchesCreate: Operation = {
  name: 'messages.batches.create',
  style: 'anthropic',
  path: '/v1/messages/batches',
  body: 'json',
  words: {
    en: { label: 'Create a message batch', summary: 'Run many messages within a day' },
    zh: { label: '创建消息批处理', summary: '在一天内运行多条消息' },
  },
  fields: {
    requests: {
      schema: { type: 'array', items: { type: 'object' } },
      required: true,
      en: 'The requests, each with a `custom_id` and the `params` of a message.',
      zh: '请求列表，每个请求含 custom_id 和一条消息的 params。',
    },
  },
  samples: call => [
    curl(call, { requests: [{ custom_id: '1', params: { model: call.model, max_tokens: 256, messages: hello } }] }, [
      'x-api-key: $API_KEY',
      'anthropic-version: 2023-06-01',
    ]),
  ],
  traits: {
    answersObject: true,
    object: { creates: messageBatchObject },
    deferred: {
      state: 'processing_status',
      ended: ['ended'],
      whole: ['ended'],
      poll: 'messages.batches.get',
      headers: { 'anthropic-version': '2023-06-01' },
      everyMs: 1_000,
      mostMs: 60_000,
      hours: 72,
      batch: {
        requests: { list: 'requests', body: 'params', operation: 'messages' },
        results: { operation: 'messages.batches.results' },
        response: ['result', 'message'],
        facts: { service_tier: 'batch' },
      },
    },
  },
}
