import type { Edits } from '../harness/start.ts'
import { type Program, programs } from './programs.ts'

const prices = '{ input: "1.00", cached_input: "0.10", output: "5.00" }'

/** One family for each format that an upstream may have; each forwards no other. */
const families = `
  only-chat:
    streams: [chat]
    forward: { chat: { all: true } }
    format-bridge: {}
    token-usage: { unpriced: parent }
  only-messages:
    streams: [messages]
    forward: { messages: { all: true } }
    format-bridge: { reasoning: budget }
    token-usage: { unpriced: parent }
  only-generate:
    streams: [generate]
    forward: { generate: { all: true } }
    format-bridge: { reasoning: budget }
    token-usage: { unpriced: parent }`

const models = ['chat', 'messages', 'generate'].map(format => {
  const accepts = ['messages', 'responses', 'generate', 'chat'].filter(name => name !== format).join(', ')
  return `  on-${format}: { family: only-${format}, upstream: text, accepts: [${accepts}], prices: ${prices} }`
})

/** Models whose upstreams speak another format than the agents. */
export const translatedModels: Edits = [
  ['pipeline: [auth, ratelimit', 'pipeline: [auth, format-bridge, ratelimit'],
  ['\n  chat:\n', `${families}\n  chat:\n`],
  ['\n  sim-chat:', `\n${models.join('\n')}\n  sim-chat:`],
]

const pairs = [
  ['claude-code', 'on-chat'],
  ['codex', 'on-chat'],
  ['codex', 'on-messages'],
  ['gemini-cli', 'on-chat'],
  ['claude-code', 'on-generate'],
] as const

export const translatedPrograms: readonly Program[] = pairs.flatMap(([agent, model]) =>
  programs.filter(program => program.agent === agent).map(program => ({ ...program, model })),
)
