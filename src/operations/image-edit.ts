import { pictureFields, pictures } from './images.ts'
import type { Operation } from './operation.ts'
import { form, keepPicture, nodeOpenai, pythonOpenai, pythonPicture, write } from './samples.ts'
import { file, model, text } from './schemas.ts'

const task = "Put the boat on the lake; keep the words 'North Star' on its side"

/** Images from a text and reference images, sent as a form. */
export const imageEdit: Operation = {
  name: 'image.edit',
  style: 'openai',
  path: '/v1/images/edits',
  body: 'form',
  words: {
    en: { label: 'Image edit', summary: 'Generate images from a prompt and reference images' },
    zh: { label: '图片编辑', summary: '根据文字和参考图生成图片' },
  },
  fields: {
    model,
    prompt: { schema: text, required: true, en: 'Description of the result.', zh: '对结果的文字描述。' },
    image: {
      schema: { type: 'array', minItems: 1, items: file },
      required: true,
      en: 'Reference images. Repeat the field for each; image[] and image[0], image[1] … are also accepted. The order is kept.',
      zh: '参考图。多张时重复该字段；也接受 image[] 与 image[0]、image[1]……。按发送顺序转发。',
    },
    mask: {
      schema: file,
      en: 'Mask. Only the first file with this name is used.',
      zh: '蒙版。只使用该名称的第一个文件。',
    },
    ...pictureFields,
  },
  samples: call => [
    form(
      call,
      [`model=${call.model}`, `prompt=${task}`, 'response_format=b64_json', 'image[]=@boat.png', 'image[]=@lake.png'],
      keepPicture('edited'),
    ),
    pythonOpenai(
      call,
      [
        'answer = client.images.edit(',
        `    model=${write(call.model)},`,
        `    prompt=${write(task)},`,
        '    image=[open("boat.png", "rb"), open("lake.png", "rb")],',
        '    response_format="b64_json",',
        ')',
        ...pythonPicture('edited'),
      ],
      ['import base64'],
    ),
    nodeOpenai(
      call,
      [
        'const answer = await client.images.edit({',
        `  model: ${write(call.model)},`,
        `  prompt: ${write(task)},`,
        "  image: [await toFile(fs.readFileSync('boat.png'), 'boat.png'), await toFile(fs.readFileSync('lake.png'), 'lake.png')],",
        "  response_format: 'b64_json',",
        '})',
        "fs.writeFileSync('edited.png', Buffer.from(answer.data[0].b64_json, 'base64'))",
      ],
      "import fs from 'node:fs'\nimport OpenAI, { toFile } from 'openai'",
    ),
  ],
  answer: pictures,
  form: 'edits',
  traits: { images: 'edited' },
}
