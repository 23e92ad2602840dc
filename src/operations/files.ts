import type { Operation } from './operation.ts'
import { form, get } from './samples.ts'
import { file, text } from './schemas.ts'

/** The operations on files in OpenAI's format. */
export const filesOperations: readonly Operation[] = [
  // Uploads a file for later requests. The body is streamed to the upstream.
  {
    name: 'files.create',
    style: 'openai',
    path: '/v1/files',
    body: 'form',
    words: {
      en: { label: 'Upload a file', summary: 'Upload a file for later requests' },
      zh: { label: '上传文件', summary: '上传文件，供后续请求使用' },
    },
    fields: {
      file: { schema: file, required: true, en: 'The file.', zh: '文件。' },
      purpose: {
        schema: text,
        required: true,
        en: 'Purpose: user_data, vision, …',
        zh: '用途，例如 user_data、vision。',
      },
    },
    samples: call => [form(call, ['purpose=user_data', 'file=@hello.mp3'])],
    traits: {
      answersObject: true,
      free: true,
      object: {
        creates: { kind: 'file', listed: { id: 'id', bytes: 'bytes', expires: 'expires_at' } },
        namesNoModel: true,
        unread: true,
      },
    },
  },
  // Lists the files of a key. The gateway answers from its records.
  {
    name: 'files.list',
    style: 'openai',
    path: '/v1/files',
    body: 'none',
    words: {
      en: { label: 'Files', summary: 'List the files uploaded with your key' },
      zh: { label: '文件列表', summary: '列出你的令牌上传的文件' },
    },
    samples: call => [get(call)],
    traits: { free: true, object: { lists: { kind: 'file' } } },
  },
  {
    name: 'files.get',
    style: 'openai',
    path: '/v1/files/{id}',
    body: 'none',
    words: {
      en: { label: 'File', summary: 'Get the metadata of a file' },
      zh: { label: '查询文件', summary: '查询文件的元数据' },
    },
    traits: { free: true, object: { of: { kind: 'file' } } },
  },
  {
    name: 'files.content',
    style: 'openai',
    path: '/v1/files/{id}/content',
    body: 'none',
    words: {
      en: { label: 'Content of a file', summary: 'Download the content of a file' },
      zh: { label: '文件内容', summary: '下载文件内容' },
    },
    traits: { free: true, object: { of: { kind: 'file' } } },
  },
  {
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
  },
]
