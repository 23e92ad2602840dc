import type { Operation } from './operation.ts'

/** Deletes a file. */
export const generateFilesDelete: Operation = {
  name: 'generate-files.delete',
  style: 'google',
  path: '/v1beta/files/{id}',
  method: 'DELETE',
  body: 'any',
  words: {
    en: { label: 'Delete a file (generative)', summary: 'Delete a stored file in the generative-language format' },
    zh: { label: '删除文件（generative）', summary: '以 generative-language 格式删除已存储的文件' },
  },
  traits: { free: true, object: { of: { kind: 'file', prefix: 'files/', ends: true } } },
}
