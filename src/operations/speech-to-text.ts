import { wave } from './audio-transcribe.ts'
import type { Operation } from './operation.ts'
import { form } from './samples.ts'
import { file, model, text, truth } from './schemas.ts'

/** The text of a recording, with the time of each word. */
export const speechToText: Operation = {
  name: 'speech-to-text',
  style: 'elevenlabs',
  path: '/v1/speech-to-text',
  body: 'form',
  words: {
    en: { label: 'Transcript with times', summary: 'Turn speech into text with the time of each word' },
    zh: { label: '带时间的转写', summary: '语音转文本，并给出每个词的时间' },
  },
  fields: {
    model_id: model,
    file: { schema: file, required: true, en: 'The recording.', zh: '音频文件。' },
    language_code: { schema: text, en: 'Language code, such as en.', zh: '语言代码，例如 en。' },
    diarize: { schema: truth, en: 'Whether to identify the speakers.', zh: '同时标注说话人。' },
  },
  samples: call => [form(call, [`model_id=${call.model}`, 'file=@hello.mp3'])],
  smallest(model) {
    const recording = new FormData()
    recording.append('model_id', model)
    recording.append('file', new Blob([wave()], { type: 'audio/wav' }), 'silence.wav')
    return { form: recording }
  },
  traits: { modelField: 'model_id', reportsSeconds: true },
}
