import type { Operation } from './operation.ts'
import { curl, keepAs, pythonOpenai, write } from './samples.ts'
import { model, number, text } from './schemas.ts'

/** Speech of a text: the answer is audio. */
export const audioSpeech: Operation = {
  name: 'audio.speech',
  style: 'openai',
  path: '/v1/audio/speech',
  body: 'json',
  words: {
    en: { label: 'Speech', summary: 'Turn text into speech' },
    zh: { label: '语音合成', summary: '文本转语音' },
  },
  fields: {
    model,
    input: { schema: text, required: true, en: 'The text to speak.', zh: '要朗读的文本。' },
    voice: { schema: text, required: true, en: 'Name of the voice.', zh: '音色名称。' },
    response_format: {
      schema: text,
      en: 'mp3, opus, aac, flac, wav or pcm.',
      zh: 'mp3、opus、aac、flac、wav 或 pcm。',
    },
    speed: { schema: number, en: 'Speaking speed.', zh: '语速。' },
  },
  samples: call => [
    curl(call, { model: call.model, input: 'Hello', voice: 'alloy' }, undefined, keepAs('hello.mp3')),
    pythonOpenai(call, [
      `with client.audio.speech.with_streaming_response.create(model=${write(call.model)}, input="Hello", voice="alloy") as answer:`,
      '    answer.stream_to_file("hello.mp3")',
    ]),
  ],
  smallest: model => ({ json: { model, input: 'yes', voice: 'alloy' } }),
  question: input => ({ input }),
  answer: { type: 'application/octet-stream', schema: () => ({}) },
  form: 'voice',
  traits: { streamsWhen: { field: 'stream_format', is: 'sse' } },
}
