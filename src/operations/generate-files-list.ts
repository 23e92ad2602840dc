import type { Operation } from './operation.ts'

/** Lists the files of a key. The gateway answers from its records. */
export const generateFilesList: Operation = {
  name: 'generate-files.list',
  style: 'google',
  path: '/v1beta/files',
  body: 'none',
  words: {
    en: {
      label: 'Files (generative)',
      summary: 'List the files uploaded with your key in the generative-language format',
    },
    zh: { label: '文件列表（generative）', summary: '以 generative-language 格式列出你的令牌上传的文件' },
  },
  traits: { free: true, object: { lists: { kind: 'file', member: 'files' } } },
}
