import { pictureFields, pictures } from './images.ts'
import type { Operation } from './operation.ts'
import { curl, keepPicture, nodeOpenai, pythonOpenai, pythonPicture, write } from './samples.ts'
import { model, text } from './schemas.ts'

/** Images from a text. */
export const imageGenerate: Operation = {
  name: 'image.generate',
  style: 'openai',
  path: '/v1/images/generations',
  body: 'json',
  words: {
    en: { label: 'Image generation', summary: 'Generate images from a prompt' },
    zh: { label: '图片生成', summary: '文生图' },
  },
  fields: {
    model,
    prompt: { schema: text, required: true, en: 'Description of the image.', zh: '对画面的文字描述。' },
    ...pictureFields,
  },
  samples: call => [
    curl(
      call,
      {
        model: call.model,
        prompt: 'A paper boat on a lake',
        n: 1,
        size: '1024x1024',
        response_format: 'b64_json',
      },
      undefined,
      keepPicture('boat'),
    ),
    pythonOpenai(
      call,
      [
        'answer = client.images.generate(',
        `    model=${write(call.model)}, prompt="A paper boat on a lake", size="1024x1024", response_format="b64_json"`,
        ')',
        ...pythonPicture('boat'),
      ],
      ['import base64'],
    ),
    nodeOpenai(
      call,
      [
        'const answer = await client.images.generate({',
        `  model: ${write(call.model)}, prompt: 'A paper boat on a lake', size: '1024x1024', response_format: 'b64_json',`,
        '})',
        "fs.writeFileSync('boat.png', Buffer.from(answer.data[0].b64_json, 'base64'))",
      ],
      "import fs from 'node:fs'\nimport OpenAI from 'openai'",
    ),
  ],
  smallest: model => ({ json: { model, prompt: 'a red square', n: 1 } }),
  firstSteps: [
    {
      name: 'curl',
      text: [
        `curl {baseUrl}/v1/images/generations`,
        `-H "Authorization: Bearer {secret}"`,
        `-H "Content-Type: application/json"`,
        `-d '{"model": "{model}", "prompt": "a boat at dawn", "size": "1024x1024", "response_format": "b64_json"}'`,
        ...keepPicture('boat'),
      ].join(' \\\n  '),
    },
    {
      name: 'Python',
      text: [
        'import base64',
        'from openai import OpenAI',
        '',
        'client = OpenAI(base_url="{baseUrl}/v1", api_key="{secret}")',
        'answer = client.images.generate(',
        '    model="{model}", prompt="a boat at dawn", size="1024x1024", response_format="b64_json"',
        ')',
        ...pythonPicture('boat'),
      ].join('\n'),
    },
  ],
  answer: pictures,
  form: 'images',
  traits: { images: 'new' },
}
