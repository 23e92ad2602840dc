import type { Operation } from './operation.ts'

/** Deletes a file. */
export const filesDelete: Operation = {
  name: 'files.delete',
  style: 'openai',
  path: '/v1/files/{id}',
  method: 'DELETE',
  body: 'none',
  words: {
    en: { label: 'Delete a file', summary: 'Delete a stored file' },
    zh: { label: '删除文件', summary: '删除已存储的文件' },
  },
  traits: { free: true, object: { of: { kind: 'file', ends: true } } },
}
