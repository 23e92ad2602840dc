import type { Operation } from './operation.ts'
import { get } from './samples.ts'

/** The state of a job at an upstream; the gateway answers. */
export const jobsGet: Operation = {
  name: 'jobs.get',
  style: 'openai',
  path: '/v1/jobs/{id}',
  body: 'none',
  words: {
    en: { label: 'Job', summary: 'Get the status and the result of a request that was accepted as a job' },
    zh: { label: '查询任务', summary: '查询作为任务受理的请求的状态及其结果' },
  },
  samples: call => [get({ ...call, path: call.path.replace('{id}', '$REQUEST_ID') })],
  traits: {},
}
