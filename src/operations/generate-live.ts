import type { Operation } from './operation.ts'
import { write } from './samples.ts'

/**
 * Speech and text in both directions on one WebSocket. The first message names the model. Each turn has its own charge.
 */
export const generateLive: Operation = {
  name: 'generate.live',
  style: 'google',
  path: '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
  body: 'none',
  words: {
    en: { label: 'Live', summary: 'Open a WebSocket for live speech and text' },
    zh: { label: 'Live', summary: '打开 WebSocket，进行实时语音和文本对话' },
  },
  samples: ({ baseUrl, model }) => [
    {
      lang: 'JavaScript',
      label: 'Node (@google/genai)',
      source: [
        "import { GoogleGenAI, Modality } from '@google/genai'",
        '',
        `const ai = new GoogleGenAI({ apiKey: process.env.TOLLGATE_KEY, httpOptions: { baseUrl: ${write(baseUrl)} } })`,
        'const session = await ai.live.connect({',
        `  model: ${write(model)},`,
        '  config: { responseModalities: [Modality.AUDIO] },',
        '  callbacks: { onmessage: message => console.log(message.serverContent) },',
        '})',
        "session.sendClientContent({ turns: 'Hello' })",
      ].join('\n'),
    },
  ],
  listedAs: 'bidiGenerateContent',
  otel: 'generate_content',
  // The gateway itself creates the body of a turn.
  traits: { answersTokens: 'also', answerLimits: ['max_output_tokens'] },
}
