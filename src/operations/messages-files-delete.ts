import type { Operation } from './operation.ts'

/** Deletes a file. */
export const messagesFilesDelete: Operation = {
  name: 'messages-files.delete',
  style: 'anthropic',
  path: '/v1/files/{id}',
  method: 'DELETE',
  body: 'none',
  words: {
    en: { label: 'Delete a file (messages)', summary: 'Delete a stored file in the messages format' },
    zh: { label: '删除文件（messages）', summary: '以 messages 格式删除已存储的文件' },
  },
  traits: {
    free: true,
    object: {
      of: { kind: 'file', ends: true, headers: { 'anthropic-beta': 'files-api-2025-04-14' } },
    },
  },
}
