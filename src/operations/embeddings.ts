import type { Operation } from './operation.ts'
import { curl, pythonOpenai, write } from './samples.ts'
import { model, whole } from './schemas.ts'

/** Vectors of texts. */
export const embeddings: Operation = {
  name: 'embeddings',
  style: 'openai',
  path: '/v1/embeddings',
  body: 'json',
  words: {
    en: { label: 'Embeddings', summary: 'Turn texts into vectors' },
    zh: { label: '向量', summary: '文本向量' },
  },
  fields: {
    model,
    input: { schema: {}, required: true, en: 'A text, or a list of texts.', zh: '文本，或文本列表。' },
    dimensions: { schema: whole, en: 'Number of dimensions of the vectors.', zh: '向量维度。' },
    encoding_format: { schema: { enum: ['float', 'base64'] }, en: 'Encoding of the vectors.', zh: '数值的编码方式。' },
  },
  samples: call => [
    curl(call, { model: call.model, input: ['Hello', 'Good morning'] }),
    pythonOpenai(call, [
      `answer = client.embeddings.create(model=${write(call.model)}, input=["Hello", "Good morning"])`,
      'print(len(answer.data[0].embedding))',
    ]),
  ],
  smallest: model => ({ json: { model, input: 'yes' } }),
  question: input => ({ input }),
  form: 'vectors',
  traits: { repeatable: { unless: [] }, answersObject: true, answersVectors: true },
}
