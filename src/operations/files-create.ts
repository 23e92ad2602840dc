import type { Operation } from './operation.ts'
import { form } from './samples.ts'
import { file, text } from './schemas.ts'

/** Uploads a file for later requests. The body is streamed to the upstream. */
export const filesCreate: Operation = {
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
}
