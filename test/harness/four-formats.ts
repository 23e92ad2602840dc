import type { Test } from 'tap'
import { type Answer, eventsOf, type WriteFacts } from '../../plugins/format-bridge/neutral/index.ts'
import { smallConfig } from './small-config.ts'
import { type Edits, type Started, start } from './start.ts'
import { adapter, type Format, formats } from './translating.ts'

const model = (format: Format): string =>
  `  up-${format}: { family: ${format}, upstream: up, accepts: [${formats.filter(one => one !== format).join(', ')}], prices: { input: "1", cached_input: "0.1", output: "2" } }`

/** One upstream, whose models each have one API format and accept the three others: `up-chat`, `up-messages` … */
export const fourYaml = `${smallConfig({ rpm: 60000 })}pipeline: [auth, ratelimit, format-bridge, token-usage]
upstreams:
  up: { url: "\${UP_URL}", cooldown: { failures: 100000 } }
families:
${formats.map(one => `  ${one}: { streams: [${one}], forward: { ${one}: { all: true } }, token-usage: { unpriced: parent }, format-bridge: {} }`).join('\n')}
models:
${formats.map(model).join('\n')}
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/responses, operation: responses, dialect: openai }
  - { match: POST /v1/messages, operation: messages, dialect: anthropic }
  - { match: "POST /v1beta/models/{model}:generateContent", operation: generate, dialect: google }
  - { match: "POST /v1beta/models/{model}:streamGenerateContent", operation: generate, dialect: google, stream: always }
`

export function startFour(t: Pick<Test, 'teardown'>, edit: Edits = []): Promise<Started> {
  return start(t, { yaml: fourYaml, edit, upstreams: ['up'] })
}

/** The path and body of a short request of a client. */
export function askOf(format: Format, name: string, stream: boolean, text = 'hi'): readonly [string, object] {
  const turns = [{ role: 'user', content: text }]
  if (format === 'chat') return ['/v1/chat/completions', { model: name, stream, messages: turns }]
  if (format === 'responses') return ['/v1/responses', { model: name, stream, store: false, input: text }]
  if (format === 'messages') return ['/v1/messages', { model: name, stream, max_tokens: 50, messages: turns }]
  const path = `/v1beta/models/${name}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
  return [path, { contents: [{ role: 'user', parts: [{ text }] }] }]
}

const facts: WriteFacts = {
  id: 'up1',
  created: 1,
  model: 'vendor-model',
  request: { turns: [], tools: [], sampling: {}, stream: true, streamUsage: true, losses: [] },
  inputEstimate: 1,
  form: 'events',
}

/** The records of a vendor's stream of an answer, and the complete answer. */
export function vendorAnswer(
  format: Format,
  answer: Answer,
): { readonly records: readonly string[]; readonly whole: object } {
  const own = adapter(format)
  const writer = own.createStreamWriter(facts)
  const text = eventsOf(answer)
    .map(event => writer.write(event))
    .join('')
  const records = text
    .split('\n\n')
    .filter(one => one !== '')
    .map(one => `${one}\n\n`)
  return { records, whole: own.writeAnswer(answer, facts) }
}
