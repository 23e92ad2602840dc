import type { Operation } from './operation.ts'

/** Returns the metadata of a file. */
export const generateFilesGet: Operation = {
  name: 'generate-files.get',
  style: 'google',
  path: '/v1beta/files/{id}',
  body: 'none',
  words: {
    en: { label: 'File (generative)', summary: 'Get the metadata of a file in the generative-language format' },
    zh: { label: '查询文件（generative）', summary: '以 generative-language 格式查询文件的元数据' },
  },
  traits: { free: true, object: { of: { kind: 'file', prefix: 'files/' } } },
}
