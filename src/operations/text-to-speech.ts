import type { Operation } from './operation.ts'
import { curl, keepAs } from './samples.ts'
import { model, object, text } from './schemas.ts'

/** A voice that every account can use. */
const voice = '21m00Tcm4TlvDq8ikWAM'

/** Speech of a text with the voice in the path: the answer is audio. */
export const textToSpeech: Operation = {
  name: 'text-to-speech',
  style: 'elevenlabs',
  path: '/v1/text-to-speech/{voice}',
  body: 'json',
  words: {
    en: { label: 'Voices', summary: 'Turn text into speech by a voice in the path' },
    zh: { label: '音色合成', summary: '用路径中的音色朗读文本' },
  },
  fields: {
    model_id: model,
    text: { schema: text, required: true, en: 'The text to speak.', zh: '要朗读的文本。' },
    voice_settings: {
      schema: object,
      en: 'Settings of the voice, such as speed and similarity_boost.',
      zh: '音色的设置，例如 speed 和 similarity_boost。',
    },
    language_code: { schema: text, en: 'Language code, such as en.', zh: '语言代码，例如 en。' },
  },
  samples: call => [
    curl(
      { ...call, path: call.path.replace('{voice}', voice) },
      { model_id: call.model, text: 'Hello' },
      undefined,
      keepAs('hello.mp3'),
    ),
  ],
  smallest: model => ({ json: { model_id: model, text: 'yes' }, params: { voice } }),
  question: text => ({ text }),
  listedAs: 'can_do_text_to_speech',
  answer: { type: 'application/octet-stream', schema: () => ({}) },
  traits: { modelField: 'model_id', segments: true },
}
