import type { Operation } from './operation.ts'

/** Returns the metadata of a file. */
export const filesGet: Operation = {
  name: 'files.get',
  style: 'openai',
  path: '/v1/files/{id}',
  body: 'none',
  words: {
    en: { label: 'File', summary: 'Get the metadata of a file' },
    zh: { label: '查询文件', summary: '查询文件的元数据' },
  },
  traits: { free: true, object: { of: { kind: 'file' } } },
}
