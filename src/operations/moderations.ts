import type { Operation } from './operation.ts'
import { curl, nodeOpenai, pythonOpenai, write } from './samples.ts'
import { model, object, text, truth } from './schemas.ts'

/** Category names of the answer. */
const words = {
  en: { results: 'One result per input.', flagged: 'Whether harmful content was found.' },
  zh: { results: '每项输入一个结果。', flagged: '是否发现违规内容。' },
}

/** Classifies texts and images as harmful or not. It is free. */
export const moderations: Operation = {
  name: 'moderations',
  style: 'openai',
  path: '/v1/moderations',
  body: 'json',
  words: {
    en: { label: 'Moderation', summary: 'Find harmful content in texts and images' },
    zh: { label: '内容审核', summary: '检查文本和图片中的有害内容' },
  },
  fields: {
    model,
    input: {
      schema: {},
      required: true,
      en: 'A text, a list of texts, or a list of texts and images.',
      zh: '文本、文本列表，或由文本和图片组成的列表。',
    },
  },
  samples: call => [
    curl(call, { model: call.model, input: 'A paper boat on a lake' }),
    pythonOpenai(call, [
      `answer = client.moderations.create(model=${write(call.model)}, input="A paper boat on a lake")`,
      'print(answer.results[0].flagged)',
    ]),
    nodeOpenai(call, [
      `const answer = await client.moderations.create({ model: ${write(call.model)}, input: 'A paper boat on a lake' })`,
      'console.log(answer.results[0].flagged)',
    ]),
  ],
  smallest: model => ({ json: { model, input: 'yes' } }),
  question: input => ({ input }),
  answer: {
    schema(language) {
      const { results, flagged } = words[language]
      const properties = { flagged: { ...truth, description: flagged }, categories: object, category_scores: object }
      return {
        type: 'object',
        required: ['results'],
        properties: {
          id: text,
          model: text,
          results: { type: 'array', description: results, items: { type: 'object', properties } },
        },
      }
    },
    example: {
      id: 'modr-1',
      model: 'MODEL',
      results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.01 } }],
    },
  },
  traits: { repeatable: { unless: [] }, answersObject: true, free: true },
}
