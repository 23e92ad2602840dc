import type { Operation } from './operation.ts'
import { file } from './schemas.ts'

/** Uploads a file for later messages. The body is streamed to the upstream. */
export const messagesFilesCreate: Operation = {
  name: 'messages-files.create',
  style: 'anthropic',
  path: '/v1/files',
  body: 'form',
  words: {
    en: { label: 'Upload a file (messages)', summary: 'Upload a file in the messages format' },
    zh: { label: '上传文件（messages）', summary: '以 messages 格式上传文件' },
  },
  fields: {
    file: { schema: file, required: true, en: 'The file.', zh: '文件。' },
  },
  traits: {
    answersObject: true,
    free: true,
    object: {
      creates: { kind: 'file', listed: { id: 'id', bytes: 'size_bytes', expires: 'expires_at' } },
      namesNoModel: true,
      unread: true,
    },
  },
}
