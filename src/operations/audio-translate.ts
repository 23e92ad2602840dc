import { audioTranscribe } from './audio-transcribe.ts'
import type { Operation } from './operation.ts'
import { form } from './samples.ts'
import { file, model, text } from './schemas.ts'

/** Translates speech into English text. */
export const audioTranslate: Operation = {
  name: 'audio.translate',
  style: 'openai',
  path: '/v1/audio/translations',
  body: 'form',
  words: {
    en: { label: 'Translation', summary: 'Turn speech into English text' },
    zh: { label: '语音翻译', summary: '语音转英文文本' },
  },
  fields: {
    model,
    file: { schema: file, required: true, en: 'The recording.', zh: '音频文件。' },
    prompt: { schema: text, en: 'Hints that help recognition.', zh: '有助于识别的提示。' },
    response_format: {
      schema: text,
      en: 'json, text, srt, verbose_json or vtt.',
      zh: 'json、text、srt、verbose_json 或 vtt。',
    },
  },
  samples: call => [form(call, [`model=${call.model}`, 'file=@hello.mp3'])],
  ...(audioTranscribe.smallest && { smallest: audioTranscribe.smallest }),
  usage: { seconds: true },
  traits: { answersTokens: 'also' },
}
