import type { Edits } from './start.ts'
import { type Format, formats } from './translating.ts'

/** Models by the format of their upstreams. Each accepts the three others. */
export const translatedModels: { readonly [format in Format]: string } = {
  chat: 'sim-chat',
  responses: 'sim-responses',
  messages: 'sim-messages',
  generate: 'sim-generative',
}

const others = (format: Format): string => formats.filter(one => one !== format).join(', ')

/** The shipped configuration with these models. */
export const translatedEdits: Edits = [
  [
    '\n  chat:\n',
    '\n  only-responses:\n    streams: [responses]\n    forward: { responses: { all: true } }\n    token-usage: { unpriced: refuse }\n  chat:\n',
  ],
  // The model of chat completions has no responses here.
  ['streams: [chat, completions, responses, responses.get]', 'streams: [chat, completions]'],
  [
    'completions: { all: true }, responses: { all: true }, responses.get: { all: true }, ',
    'completions: { all: true }, responses.get: { all: true }, ',
  ],
  [
    '  sim-chat: { family: chat,',
    `  sim-responses: { family: only-responses, upstream: text, accepts: [${others('responses')}], prices: { input: "1.00", cached_input: "0.10", output: "2.00" } }\n  sim-chat: { family: chat, accepts: [${others('chat')}],`,
  ],
  ['sim-messages: { family: messages,', `sim-messages: { family: messages, accepts: [${others('messages')}],`],
  ['sim-generative: { family: generative,', `sim-generative: { family: generative, accepts: [${others('generate')}],`],
]
