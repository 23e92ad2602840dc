import type { Operation } from './operation.ts'
import { curl } from './samples.ts'
import { list, model, text, truth, whole } from './schemas.ts'

/** Sorts documents by their relevance to a query. */
export const rerank: Operation = {
  name: 'rerank',
  style: 'cohere',
  path: '/v1/rerank',
  body: 'json',
  words: {
    en: { label: 'Rerank', summary: 'Sort documents by relevance to a query' },
    zh: { label: '重排', summary: '按与查询的相关度排序文档' },
  },
  fields: {
    model,
    query: { schema: text, required: true, en: 'The query to compare the documents with.', zh: '用于比较的查询。' },
    documents: { schema: list, required: true, en: 'The documents.', zh: '待排序的文档。' },
    top_n: { schema: whole, en: 'Number of documents to return.', zh: '返回的数量。' },
    return_documents: { schema: truth, en: 'Whether to return the texts of the documents.', zh: '同时返回文本。' },
  },
  samples: call => [curl(call, { model: call.model, query: 'boats', documents: ['A lake', 'A paper boat'], top_n: 1 })],
  smallest: model => ({ json: { model, query: 'yes', documents: ['yes', 'no'] } }),
  question: query => ({ query, documents: [query] }),
  listedAs: 'rerank',
  form: 'ranks',
  traits: { repeatable: { unless: [] } },
}
