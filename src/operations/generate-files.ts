import type { Operation } from './operation.ts'

/** The operations on files in Google's format. */
export const generateFilesOperations: readonly Operation[] = [
  // Uploads a file: in one request, or by a link that a first request returns. The body is streamed to the upstream.
  {
    name: 'generate-files.create',
    style: 'google',
    path: '/upload/v1beta/files',
    body: 'any',
    words: {
      en: { label: 'Upload a file (generative)', summary: 'Upload a file in the generative-language format' },
      zh: { label: '上传文件（generative）', summary: '以 generative-language 格式上传文件' },
    },
    traits: {
      free: true,
      object: {
        creates: {
          kind: 'file',
          listed: { inside: 'file', id: 'name', bytes: 'sizeBytes', expires: 'expirationTime' },
        },
        uploads: {
          id: 'upload_id',
          key: 'key',
          link: 'x-goog-upload-url',
          others: ['x-goog-upload-control-url'],
          bytes: 'x-goog-upload-header-content-length',
          days: 2,
        },
        namesNoModel: true,
        unread: true,
      },
    },
  },
  // Lists the files of a key. The gateway answers from its records.
  {
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
  },
  {
    name: 'generate-files.get',
    style: 'google',
    path: '/v1beta/files/{id}',
    body: 'none',
    words: {
      en: { label: 'File (generative)', summary: 'Get the metadata of a file in the generative-language format' },
      zh: { label: '查询文件（generative）', summary: '以 generative-language 格式查询文件的元数据' },
    },
    traits: { free: true, object: { of: { kind: 'file', prefix: 'files/' } } },
  },
  {
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
  },
]
