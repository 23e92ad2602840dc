import type { Operation } from './operation.ts'
import { curl, pythonOpenai, write } from './samples.ts'
import { model, number, stream, tokensMax } from './schemas.ts'

/** Continues a text. Editors use this older endpoint to complete code. */
export const completions: Operation = {
  name: 'completions',
  style: 'openai',
  path: '/v1/completions',
  body: 'json',
  words: {
    en: { label: 'Completion', summary: 'Continue a text' },
    zh: { label: '文本续写', summary: '续写文本' },
  },
  fields: {
    model,
    prompt: { schema: {}, required: true, en: 'A text, or a list of texts.', zh: '文本，或文本列表。' },
    suffix: { schema: { type: 'string' }, en: 'Text after the completion.', zh: '待续写内容之后的文本。' },
    max_tokens: tokensMax,
    temperature: { schema: number, en: 'Sampling temperature.', zh: '采样温度。' },
    stream,
  },
  samples: call => [
    curl(call, { model: call.model, prompt: 'Once upon a time' }),
    pythonOpenai(call, [
      `answer = client.completions.create(model=${write(call.model)}, prompt="Once upon a time")`,
      'print(answer.choices[0].text)',
    ]),
  ],
  smallest: model => ({ json: { model, max_tokens: 16, prompt: 'Say yes.' } }),
  question: (prompt, most) => ({ prompt, ...(most !== undefined && { max_tokens: most }) }),
  traits: {
    repeatable: { unless: [] },
    answersObject: true,
    usageOnDemand: true,
    usageBehind: 'finish_reason',
    answersTokens: 'only',
    answerLimits: ['max_tokens'],
  },
}
