import type { Operation } from './operation.ts'
import { curl } from './samples.ts'
import { list, model, text, whole } from './schemas.ts'

/** Vectors of texts and images for a stated purpose. */
export const embed: Operation = {
  name: 'embed',
  style: 'cohere',
  path: '/v2/embed',
  body: 'json',
  words: {
    en: { label: 'Embed', summary: 'Turn texts into vectors for a stated purpose' },
    zh: { label: '向量（按用途）', summary: '按用途生成文本向量' },
  },
  fields: {
    model,
    input_type: {
      schema: text,
      required: true,
      en: 'search_document, search_query, …',
      zh: 'search_document、search_query 等。',
    },
    texts: { schema: list, en: 'The texts.', zh: '文本。' },
    inputs: { schema: list, en: 'Texts and images.', zh: '文本与图片。' },
    embedding_types: {
      schema: list,
      en: 'Number formats of the vectors: float, int8, …',
      zh: '数值格式：float、int8 等。',
    },
    output_dimension: { schema: whole, en: 'Length of the vectors.', zh: '向量维度。' },
  },
  samples: call => [
    curl(call, { model: call.model, input_type: 'search_document', texts: ['Hello'], embedding_types: ['float'] }),
  ],
  smallest: model => ({ json: { model, input_type: 'search_query', texts: ['yes'], embedding_types: ['float'] } }),
  question: text => ({ texts: [text] }),
  traits: { repeatable: { unless: [] }, answersObject: true, answersVectors: true },
}
