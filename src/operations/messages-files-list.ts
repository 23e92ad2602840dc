import type { Operation } from './operation.ts'

/** Lists the files of a key. The gateway answers from its records. */
export const messagesFilesList: Operation = {
  name: 'messages-files.list',
  style: 'anthropic',
  path: '/v1/files',
  body: 'none',
  words: {
    en: { label: 'Files (messages)', summary: 'List the files uploaded with your key in the messages format' },
    zh: { label: '文件列表（messages）', summary: '以 messages 格式列出你的令牌上传的文件' },
  },
  traits: { free: true, object: { lists: { kind: 'file' } } },
}
