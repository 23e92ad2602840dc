import type { Operation } from './operation.ts'
import { curl, helloContents } from './samples.ts'
import { counted } from './schemas.ts'

/** Counts the tokens of a conversation without generating an answer. */
export const generateCount: Operation = {
  name: 'generate.count',
  style: 'google',
  path: '/v1beta/models/{model}:countTokens',
  body: 'json',
  words: {
    en: { label: 'Generative token count', summary: 'Count tokens in the generative-language format' },
    zh: { label: 'Generative 词元计数', summary: 'generative-language 格式的词元计数' },
  },
  fields: {
    contents: counted,
  },
  samples: call => [curl(call, { contents: helloContents })],
  usage: { counted: 'totalTokens' },
  listedAs: 'countTokens',
  traits: { repeatable: { unless: [] } },
}
