import { messageBatchObject } from './batch-objects.ts'
import type { Operation } from './operation.ts'
import { curl, hello } from './samples.ts'

/** The operations on batches of messages. */
export const messagesBatchesOperations: readonly Operation[] = [
  // Runs many messages within a day, at batch prices.
  {
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
          succeeded: ['request_counts', 'succeeded'],
          facts: { service_tier: 'batch' },
        },
      },
    },
  },
  {
    name: 'messages.batches.list',
    style: 'anthropic',
    path: '/v1/messages/batches',
    body: 'none',
    words: {
      en: { label: 'Message batches', summary: 'List the batches of messages of your key' },
      zh: { label: '消息批处理列表', summary: '列出你的令牌创建的消息批处理' },
    },
    traits: { free: true, object: { lists: { kind: messageBatchObject.kind } } },
  },
  {
    name: 'messages.batches.get',
    style: 'anthropic',
    path: '/v1/messages/batches/{id}',
    body: 'none',
    words: {
      en: { label: 'Message batch', summary: 'Get a batch of messages' },
      zh: { label: '查询消息批处理', summary: '查询消息批处理的状态' },
    },
    traits: { free: true, object: { of: { kind: 'message batch' }, creates: messageBatchObject } },
  },
  {
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
  },
  {
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
  },
  {
    name: 'messages.batches.results',
    style: 'anthropic',
    path: '/v1/messages/batches/{id}/results',
    body: 'none',
    words: {
      en: { label: 'Results of a message batch', summary: 'Get the results of a batch of messages' },
      zh: { label: '消息批处理结果', summary: '获取消息批处理的结果' },
    },
    traits: { free: true, object: { of: { kind: messageBatchObject.kind } } },
  },
]
