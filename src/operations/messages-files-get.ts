import type { Operation } from './operation.ts'

/** Returns the metadata of a file. */
export const messagesFilesGet: Operation = {
  name: 'messages-files.get',
  style: 'anthropic',
  path: '/v1/files/{id}',
  body: 'none',
  words: {
    en: { label: 'File (messages)', summary: 'Get the metadata of a file in the messages format' },
    zh: { label: '查询文件（messages）', summary: '以 messages 格式查询文件的元数据' },
  },
  traits: { free: true, object: { of: { kind: 'file' } } },
}
