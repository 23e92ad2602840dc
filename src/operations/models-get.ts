import type { Operation } from './operation.ts'

/** One model; the gateway answers. */
export const modelsGet: Operation = {
  name: 'models.get',
  style: 'openai',
  path: '/v1/models/{id}',
  body: 'none',
  words: {
    en: { label: 'Model', summary: 'Get a model' },
    zh: { label: '查询模型', summary: '查询一个模型' },
  },
  traits: {},
}
