import type { Edits } from '../harness/start.ts'
import { type Program, programs } from './programs.ts'

const prices = '{ input: "1.00", cached_input: "0.10", output: "5.00" }'

/** One family for each API format of an upstream; each forwards only its own operations. */
const families = `
  only-chat:
    streams: [chat]
    forward: { chat: { all: true } }
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

/**
 * Models by the format of their upstreams. Agents recognise some names, and send more settings for them: thinking,
 * efforts, freeform tools, and the management of the context.
 */
const names = {
  chat: ['on-chat', 'claude-opus-5-5', 'gpt-5.5', 'gpt-6-sol', 'gemini-2.5-pro'],
  messages: ['on-messages', 'gpt-5.4'],
  generate: ['on-generate', 'claude-opus-4-6'],
}

const models = Object.entries(names).flatMap(([format, own]) => {
  const accepts = ['messages', 'responses', 'generate', 'chat'].filter(name => name !== format).join(', ')
  return own.map(
    name => `  ${name}: { family: only-${format}, upstream: text, accepts: [${accepts}], prices: ${prices} }`,
  )
})

/** Models whose upstreams speak another format than the agents. */
export const translatedModels: Edits = [
  ['\n  chat:\n', `${families}\n  chat:\n`],
  ['\n  sim-chat:', `\n${models.join('\n')}\n  sim-chat:`],
]

/** For some models, Codex has only one tool: code that calls the other tools. */
const fromCode = `Run it. [[call functions__exec ${JSON.stringify({ input: "await tools.exec_command({ cmd: 'echo from-the-tool > made.txt' })" })}]]`

const pairs = [
  ['claude-code', 'on-chat'],
  ['claude-code', 'claude-opus-5-5'],
  ['codex', 'on-chat'],
  ['codex', 'gpt-5.5'],
  ['codex', 'gpt-6-sol'],
  ['codex', 'on-messages'],
  ['codex', 'gpt-5.4'],
  ['gemini-cli', 'on-chat'],
  ['gemini-cli', 'gemini-2.5-pro'],
  ['claude-code', 'on-generate'],
  ['claude-code', 'claude-opus-4-6'],
] as const

export const translatedPrograms: readonly Program[] = pairs.flatMap(([agent, model]) =>
  programs
    .filter(program => program.agent === agent)
    .map(program => ({
      ...program,
      model,
      ...(model === 'gpt-6-sol' && program.version === '0.171.0' && { prompt: fromCode }),
    })),
)
