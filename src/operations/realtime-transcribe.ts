import type { Operation } from './operation.ts'

/** Live transcription on one WebSocket. The session's settings name the model. Each utterance has its own charge. */
export const realtimeTranscribe: Operation = {
  name: 'realtime.transcribe',
  style: 'openai',
  path: '/v1/realtime?intent=transcription',
  body: 'none',
  words: {
    en: { label: 'Live transcription', summary: 'Open a WebSocket for live transcription' },
    zh: { label: '实时转写', summary: '打开 WebSocket，进行实时转写' },
  },
  usage: { inside: 'response', seconds: true },
  traits: { answersTokens: 'also', object: { namesNoModel: true } },
}
