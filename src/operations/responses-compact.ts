import type { Operation } from './operation.ts'
import { model, text } from './schemas.ts'

/** Shortens a conversation for the next request. */
export const responsesCompact: Operation = {
  name: 'responses.compact',
  style: 'openai',
  path: '/v1/responses/compact',
  body: 'json',
  words: {
    en: { label: 'Compact a conversation', summary: 'Compact a conversation for the next request' },
    zh: { label: '压缩对话', summary: '为下一次请求压缩对话' },
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
  traits: { answersObject: true, answersTokens: 'only' },
}
