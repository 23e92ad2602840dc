import type { Operation } from './operation.ts'
import { model, text } from './schemas.ts'

/** Counts the tokens of a request without generating a response. */
export const responsesTokens: Operation = {
  name: 'responses.tokens',
  style: 'openai',
  path: '/v1/responses/input_tokens',
  body: 'json',
  words: {
    en: { label: 'Count input tokens', summary: 'Count the input tokens of a request in the responses format' },
    zh: { label: '计算输入词元', summary: '计算 responses 格式请求的输入词元数' },
  },
  fields: {
    model,
    input: { schema: {}, required: true, en: 'A text, or a list of input items.', zh: '文本，或输入列表。' },
    previous_response_id: {
      schema: text,
      en: 'ID of the response that the input continues.',
      zh: '输入所接续的响应。',
    },
  },
  usage: { counted: 'input_tokens' },
  smallest: model => ({ json: { model, input: 'Say yes.' } }),
  question: input => ({ input }),
  traits: { repeatable: { unless: [] }, answersObject: true, free: true },
}
