import type { Operation } from './operation.ts'

/** Uploads a file: in one request, or by a link that a first request returns. The body is streamed to the upstream. */
export const generateFilesCreate: Operation = {
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
}
