import type { Operation } from './operation.ts'
import { get } from './samples.ts'

/** Lists the files of a key. The gateway answers from its records. */
export const filesList: Operation = {
  name: 'files.list',
  style: 'openai',
  path: '/v1/files',
  body: 'none',
  words: {
    en: { label: 'Files', summary: 'List the files uploaded with your key' },
    zh: { label: '文件列表', summary: '列出你的令牌上传的文件' },
  },
  samples: call => [get(call)],
  traits: { free: true, object: { lists: { kind: 'file' } } },
}
