import type { Operation } from './operation.ts'
import { file } from './schemas.ts'

/** The operations on files in Anthropic's format. */
export const messagesFilesOperations: readonly Operation[] = [
  // Uploads a file for later messages. The body is streamed to the upstream.
  {
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
  },
  // Lists the files of a key. The gateway answers from its records.
  {
    name: 'messages-files.list',
    style: 'anthropic',
    path: '/v1/files',
    body: 'none',
    words: {
      en: { label: 'Files (messages)', summary: 'List the files uploaded with your key in the messages format' },
      zh: { label: '文件列表（messages）', summary: '以 messages 格式列出你的令牌上传的文件' },
    },
    traits: { free: true, object: { lists: { kind: 'file' } } },
  },
  {
    name: 'messages-files.get',
    style: 'anthropic',
    path: '/v1/files/{id}',
    body: 'none',
    words: {
      en: { label: 'File (messages)', summary: 'Get the metadata of a file in the messages format' },
      zh: { label: '查询文件（messages）', summary: '以 messages 格式查询文件的元数据' },
    },
    traits: { free: true, object: { of: { kind: 'file' } } },
  },
  // Returns the content of a file that a tool of the upstream created.
  {
    name: 'messages-files.content',
    style: 'anthropic',
    path: '/v1/files/{id}/content',
    body: 'none',
    words: {
      en: { label: 'Content of a file (messages)', summary: 'Download the content of a file in the messages format' },
      zh: { label: '文件内容（messages）', summary: '以 messages 格式下载文件内容' },
    },
    traits: { free: true, object: { of: { kind: 'file' } } },
  },
  {
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
  },
]
