import type { Operation } from './operation.ts'
import { form, pythonOpenai, write } from './samples.ts'
import { file, model, stream, text } from './schemas.ts'

/** A sixteenth of a second of silence: 8,000 samples a second of 8 bits. */
const silence = { samples: 500, rate: 8_000, middle: 0x80 }

/** The text of a recording, sent as a form. */
export const audioTranscribe: Operation = {
  name: 'audio.transcribe',
  style: 'openai',
  path: '/v1/audio/transcriptions',
  body: 'form',
  words: {
    en: { label: 'Transcription', summary: 'Turn speech into text' },
    zh: { label: '语音识别', summary: '语音转文本' },
  },
  fields: {
    model,
    file: { schema: file, required: true, en: 'The recording.', zh: '音频文件。' },
    language: { schema: text, en: 'Language code, such as en.', zh: '语言代码，例如 en。' },
    prompt: { schema: text, en: 'Hints that help recognition.', zh: '有助于识别的提示。' },
    response_format: {
      schema: text,
      en: 'json, text, srt, verbose_json or vtt.',
      zh: 'json、text、srt、verbose_json 或 vtt。',
    },
    stream,
  },
  samples: call => [
    form(call, [`model=${call.model}`, 'file=@hello.mp3']),
    pythonOpenai(call, [
      `answer = client.audio.transcriptions.create(model=${write(call.model)}, file=open("hello.mp3", "rb"))`,
      'print(answer.text)',
    ]),
  ],
  smallest(model) {
    const recording = new FormData()
    recording.append('model', model)
    recording.append('file', new Blob([wave()], { type: 'audio/wav' }), 'silence.wav')
    return { form: recording }
  },
  usage: { seconds: true },
  form: 'transcript',
  traits: { answersTokens: 'also' },
}

export function wave(): Uint8Array<ArrayBuffer> {
  const { samples, rate, middle } = silence
  const bytes = new Uint8Array(44 + samples).fill(middle, 44)
  const view = new DataView(bytes.buffer)
  const write = (at: number, word: string): void => bytes.set(new TextEncoder().encode(word), at)
  write(0, 'RIFF')
  view.setUint32(4, 36 + samples, true)
  write(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate, true)
  view.setUint16(32, 1, true)
  view.setUint16(34, 8, true)
  write(36, 'data')
  view.setUint32(40, samples, true)
  return bytes
}
