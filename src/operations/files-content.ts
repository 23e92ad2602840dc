import type { Operation } from './operation.ts'

/** Returns the content of a file. */
export const filesContent: Operation = {
  name: 'files.content',
  style: 'openai',
  path: '/v1/files/{id}/content',
  body: 'none',
  words: {
    en: { label: 'Content of a file', summary: 'Download the content of a file' },
    zh: { label: '文件内容', summary: '下载文件内容' },
  },
  traits: { free: true, object: { of: { kind: 'file' } } },
}
