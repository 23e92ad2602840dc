import type { Operation } from './operation.ts'
import { list, object } from './schemas.ts'

/** Vectors in the generative-language style, of one text or of several. */
export const generateEmbed: Operation = {
  name: 'generate.embed',
  style: 'google',
  path: '/v1beta/models/{model}:embedContent',
  body: 'json',
  words: {
    en: { label: 'Generative embeddings', summary: 'Embed content in the generative-language format' },
    zh: { label: 'Generative 向量', summary: 'generative-language 格式的向量' },
  },
  fields: {
    content: { schema: object, en: 'The content to embed (embedContent).', zh: '要嵌入的内容（embedContent）。' },
    requests: { schema: list, en: 'Several contents (batchEmbedContents).', zh: '多个内容（batchEmbedContents）。' },
  },
  smallest: () => ({ json: { content: { parts: [{ text: 'yes' }] } } }),
  question: text => ({ content: { parts: [{ text }] } }),
  listedAs: 'embedContent',
  otel: 'embeddings',
  traits: { repeatable: { unless: [] }, answersObject: true, answersVectors: true },
}
