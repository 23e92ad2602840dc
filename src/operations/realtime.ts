import type { Operation } from './operation.ts'
import { write } from './samples.ts'

/** Speech and text in both directions on one WebSocket. Each response has its own charge. */
export const realtime: Operation = {
  name: 'realtime',
  style: 'openai',
  path: '/v1/realtime',
  body: 'none',
  words: {
    en: { label: 'Realtime', summary: 'Open a WebSocket for speech and text' },
    zh: { label: '实时', summary: '打开 WebSocket，进行语音和文本对话' },
  },
  samples: ({ baseUrl, model }) => [
    {
      lang: 'JavaScript',
      label: 'Node (openai)',
      source: [
        "import OpenAI from 'openai'",
        "import { OpenAIRealtimeWS } from 'openai/realtime/ws'",
        '',
        `const client = new OpenAI({ baseURL: ${write(`${baseUrl}/v1`)}, apiKey: process.env.TOLLGATE_KEY })`,
        `const session = new OpenAIRealtimeWS({ model: ${write(model)} }, client)`,
        "session.on('response.output_text.delta', event => process.stdout.write(event.delta))",
        "session.on('response.done', () => session.close())",
        "session.socket.on('open', () => session.send({ type: 'response.create' }))",
      ].join('\n'),
    },
  ],
  usage: { inside: 'response', seconds: true },
  otel: 'chat',
  traits: { answersTokens: 'also', answerLimits: ['max_output_tokens'] },
}
