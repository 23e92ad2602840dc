import type { Operation } from './operation.ts'
import { get } from './samples.ts'

/** The charge of a request; the gateway answers. */
export const chargesGet: Operation = {
  name: 'charges.get',
  style: 'openai',
  path: '/v1/charges/{id}',
  body: 'none',
  words: {
    en: { label: 'Charge', summary: 'Get the charge of a request and its explanation' },
    zh: { label: '查询费用', summary: '查询一次请求的费用及其原因' },
  },
  samples: call => [get({ ...call, path: call.path.replace('{id}', '$REQUEST_ID') })],
  traits: {},
}
