import type { Operation } from './operation.ts'
import { curl, nodeOpenai, pythonOpenai, write } from './samples.ts'
import { model, stream, text, tokensMax, instructionsHelp, tools } from './schemas.ts'

/** The responses style: its streams describe one response, whose tools may create images. */
export const responses: Operation = {
  name: 'responses',
  style: 'openai',
  path: '/v1/responses',
  body: 'json',
  words: {
    en: { label: 'Responses', summary: 'Create a response in the responses format' },
    zh: { label: 'Responses', summary: 'responses 格式的调用' },
  },
  fields: {
    model,
    input: { schema: {}, required: true, en: 'A text, or a list of input items.', zh: '文本，或输入列表。' },
    instructions: { schema: text, ...instructionsHelp },
    max_output_tokens: tokensMax,
    tools,
    stream,
  },
  samples: call => [
    curl(call, { model: call.model, input: 'Hello' }),
    pythonOpenai(call, [
      `answer = client.responses.create(model=${write(call.model)}, input="Hello")`,
      'print(answer.output_text)',
    ]),
    nodeOpenai(call, [
      `const answer = await client.responses.create({ model: ${write(call.model)}, input: 'Hello' })`,
      'console.log(answer.output_text)',
    ]),
  ],
  smallest: model => ({ json: { model, max_output_tokens: 16, input: 'Say yes.' } }),
  question: (input, most) => ({ input, ...(most !== undefined && { max_output_tokens: most }) }),
  usage: { inside: 'response' },
  otel: 'chat',
  traits: {
    repeatable: { unless: ['background', 'conversation'] },
    answersObject: true,
    imageTools: true,
    longLastEvent: true,
    answersTokens: 'only',
    answerLimits: ['max_output_tokens'],
    deferred: {
      when: 'background',
      inside: 'response',
      state: 'status',
      ended: ['completed', 'incomplete', 'failed', 'cancelled', 'expired'],
      whole: ['completed', 'incomplete'],
      poll: 'responses.get',
      everyMs: 500,
      mostMs: 15_000,
      hours: 24,
    },
    object: {
      creates: {
        kind: 'response',
        inside: 'response',
        parts: { at: 'output', inside: 'item', members: { id: 'item', container_id: 'container' } },
        unlessFalse: 'store',
        days: 90,
      },
    },
  },
}
