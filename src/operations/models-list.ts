import type { Operation } from './operation.ts'
import { get } from './samples.ts'

/** The offered models; the gateway answers. */
export const modelsList: Operation = {
  name: 'models.list',
  style: 'openai',
  path: '/v1/models',
  body: 'none',
  words: {
    en: { label: 'Model list', summary: 'List the available models' },
    zh: { label: '模型列表', summary: '列出可用模型' },
  },
  samples: call => [get(call)],
  traits: {},
}
