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
    en: { label: 'Upload a file', summary: 'Upload a file that the upstream keeps' },
    zh: { label: '上传文件', summary: '上传由上游保存的文件' },
  },
  fields: {
    file: { schema: file, required: true, en: 'The file.', zh: '文件。' },
    purpose: {
      schema: text,
      required: true,
      en: 'What it is for: user_data, vision, …',
      zh: '用途，例如 user_data、vision。',
    },
  },
  samples: call => [form(call, ['purpose=user_data', 'file=@hello.mp3'])],
  traits: {
    answersObject: true,
    free: true,
    object: { creates: { kind: 'file', listed: true }, namesNoModel: true, unread: true },
  },
}
