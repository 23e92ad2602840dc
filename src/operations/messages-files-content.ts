import type { Operation } from './operation.ts'

/** Returns the content of a file that a tool of the upstream made. */
export const messagesFilesContent: Operation = {
  name: 'messages-files.content',
  style: 'anthropic',
  path: '/v1/files/{id}/content',
  body: 'none',
  words: {
    en: { label: 'Content of a file (messages)', summary: 'Download the content of a file in the messages format' },
    zh: { label: '文件内容（messages）', summary: '以 messages 格式下载文件内容' },
  },
  traits: { free: true, object: { of: { kind: 'file' } } },
}
