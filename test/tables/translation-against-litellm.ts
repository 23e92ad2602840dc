import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import {
  type Answer,
  AnswerFault,
  answerOf,
  type Conversation,
  type JsonObject,
} from '../../plugins/format-bridge/neutral/index.ts'
import type { Json } from '../../src/plugin-api/index.ts'
import { seeded } from '../harness/seed.ts'
import {
  adapter,
  type Format,
  readRecords,
  recordsOf,
  translateAnswer,
  translateRequest,
  translateStream,
  upstreamFacts,
} from '../harness/translating.ts'
import { vendorAnswers, vendorStream } from '../harness/vendor-answers.ts'
import { explain } from './translation-differences.ts'

/**
 * Translates 500 requests with their answers, half of them streams, and compares the result with LiteLLM's, field by field:
 * `npm run tables:translation -- [PYTHON]`. Prints each kind of difference and in whose favour it is. Exits 1 where a
 * difference has no explanation, and 2 where Python or the package is missing.
 */
const python = process.argv[2] ?? 'python3'
const has = spawnSync(python, ['-c', 'import litellm'], { encoding: 'utf8' })
if (has.status !== 0) {
  console.error(`NOTHING WAS COMPARED: ${python} cannot import litellm (pip install litellm): ${has.stderr}`)
  process.exit(2)
}

const directions: readonly (readonly [from: Format, to: Format])[] = [
  ['chat', 'messages'],
  ['chat', 'generate'],
  ['chat', 'responses'],
  ['messages', 'chat'],
  ['responses', 'chat'],
  ['messages', 'generate'],
  ['messages', 'responses'],
  ['responses', 'messages'],
  ['responses', 'generate'],
  ['generate', 'chat'],
  ['generate', 'responses'],
  ['generate', 'messages'],
]

/** The same cases in every run. */
const unit = seeded(20_261_128)
const chance = (share: number): boolean => unit() < share
const pick = <One>(...all: readonly One[]): One => all[Math.floor(unit() * all.length)] as One

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

function makeChat(): JsonObject {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  const question = { type: 'text', text: pick('Is it warm there?', 'Wie heiß ist es?', '暖かい？') }
  const hasTools = chance(0.7)
  const calls = ['a', 'b']
    .slice(0, chance(0.5) ? 2 : 1)
    .map(id => ({ id: `call_${id}`, type: 'function', function: { name: 'look', arguments: `{"city":"${id}"}` } }))
  const step = [
    { role: 'assistant', content: pick<string | null>(null, 'I look.'), tool_calls: calls },
    ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'warm' })),
  ]
  const turn = [
    { role: 'assistant', content: 'Yes.' },
    { role: 'user', content: 'And now?' },
  ]
  const choice = pick<Json | undefined>(undefined, 'auto', 'required', 'none', {
    type: 'function',
    function: { name: 'look' },
  })
  const json_schema = { name: 'warm', strict: true, schema: { ...parameters } }
  return {
    messages: [
      ...(chance(0.6) ? [{ role: 'system', content: 'Be brief.' }] : []),
      { role: 'user', content: chance(0.4) ? [question, image] : question.text },
      ...(chance(0.3) ? turn : []),
      ...(hasTools && chance(0.6) ? step : []),
    ],
    ...(hasTools && {
      tools: [{ type: 'function', function: { name: 'look', description: 'The weather.', parameters } }],
      ...(choice !== undefined && { tool_choice: choice }),
      ...(chance(0.2) && { parallel_tool_calls: chance(0.5) }),
    }),
    max_tokens: pick(500, 4000, 16_000),
    ...(chance(0.3) && { temperature: pick(0, 0.5, 1) }),
    ...(chance(0.2) && { top_p: 0.9 }),
    ...(chance(0.2) && { stop: ['END'] }),
    ...(chance(0.1) && { seed: 7 }),
    ...(chance(0.2) && { reasoning_effort: pick('low', 'medium', 'high') }),
    ...(chance(0.2) && { response_format: { type: 'json_schema', json_schema } }),
    ...(chance(0.1) && { user: 'user-1' }),
  }
}

type Case = {
  readonly from: Format
  readonly to: Format
  readonly stream: boolean
  readonly body: JsonObject
  readonly step: 'calls' | 'final'
}

/**
 * A request in the client's format: the translation of another format, without what the client's format cannot carry.
 */
function makeCase(i: number): Case {
  const [from, to] = directions[i % directions.length] as (typeof directions)[number]
  // Each direction has as many streams as complete answers.
  const stream = Math.floor(i / directions.length) % 2 === 1
  const chat = makeChat()
  const whole = from === 'chat' ? chat : translateRequest('chat', chat, from, { facts: { reasoning: 'effort' } }).body
  const counted = from === 'chat' ? { stream_options: { include_usage: true } } : {}
  const body: JsonObject = { ...whole, model: 'm', ...(stream && { stream: true, ...counted }) }
  return { from, to, stream, body, step: chance(0.5) ? 'calls' : 'final' }
}

type Theirs = { readonly sent?: JsonObject | null; readonly got?: Json; readonly error?: string }
type Read = { readonly [path: string]: Json }

const cases = Array.from({ length: 500 }, (_, i) => makeCase(i))
const input = cases.map(({ step, ...one }) => {
  const { whole, records } = vendorAnswers[one.to][step]
  return JSON.stringify({ ...one, answer: { whole: JSON.stringify(whole), stream: vendorStream(one.to, records) } })
})
const script = fileURLToPath(new URL('translate.py', import.meta.url))
const ran = spawnSync(python, [script], { input: input.join('\n'), encoding: 'utf8', maxBuffer: 1 << 28 })
const results = ran.stdout
  .split('\n')
  .filter(Boolean)
  .map(line => JSON.parse(line) as Theirs)
if (results.length !== cases.length) throw new Error(`${results.length} results: ${ran.stderr.slice(-2000)}`)

/** Members with a value, by path; list indices do not distinguish kinds of differences. */
function flatten(value: unknown, path = ''): Read {
  if (typeof value !== 'object' || value === null) return value === undefined ? {} : { [path]: value as Json }
  const entries = Array.isArray(value) ? value.map((one, i) => [`[${i}]`, one] as const) : Object.entries(value)
  return Object.assign(
    {},
    ...entries.map(([name, one]) => flatten(one, name.startsWith('[') ? path + name : `${path}.${name}`)),
  )
}

function readRequest(format: Format, body: JsonObject): Read {
  const {
    losses,
    stream: _s,
    streamUsage: _u,
    ...rest
  }: Conversation = adapter(format).parseRequest({
    body,
    stream: false,
    issuer: 'up',
  })
  const others = losses.map(({ feature, field = '' }) => `${feature} ${field}`).filter(one => !one.endsWith(' model'))
  return flatten({ ...rest, others })
}

function readAnswer(answer: Answer): Read {
  const { parts, stop, usage } = answer
  // A thought without text contains only a seal, and no seals are compared.
  const shownParts = parts.filter(part => part.kind !== 'thought' || part.text !== '')
  const own = shownParts.map(part => {
    if (part.kind === 'call')
      return { ...part, id: 'id', arguments: JSON.parse(part.arguments) as Json, seal: undefined }
    return 'seal' in part ? { ...part, seal: undefined } : part
  })
  const counted = Object.fromEntries(Object.entries(usage ?? {}).filter(([, count]) => count > 0))
  return flatten({ parts: own, why: stop.why, usage: counted })
}

function readStream(format: Format, records: readonly (Json | string)[]): Read {
  return readAnswer(answerOf(readRecords(format, [...records, ...(format === 'chat' ? ['[DONE]'] : [])])))
}

/** The records of a stream of LiteLLM: objects, or the text of an event stream. */
function recordsOfTheirs(got: readonly Json[]): readonly (Json | string)[] {
  const isText = got.every(one => typeof one === 'string')
  return isText ? recordsOf(got.join('')).map(({ data }) => data) : got
}

function attempt(read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    if (error instanceof AnswerFault || error instanceof Error) return { '.error': error.message.slice(0, 120) }
    throw error
  }
}

type Kind = { count: number; sample: string }
const kinds = new Map<string, Kind>()

function compare(name: string, ours: Read, theirs: Read): void {
  for (const path of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const [own, other] = [ours[path], theirs[path]].map(one => JSON.stringify(one))
    if (own === other) continue
    const who = own === undefined ? 'only LiteLLM' : other === undefined ? 'only ours' : 'differs'
    const key = `${name} ${path.replaceAll(/\[\d+\]/g, '[]')} ${who}`
    const kind = kinds.get(key) ?? { count: 0, sample: `${own ?? '–'} | ${other ?? '–'}` }
    kind.count++
    kinds.set(key, kind)
  }
}

for (const [i, { from, to, stream, body, step }] of cases.entries()) {
  const { sent, got, error } = results[i] as Theirs
  const { conversation, ...translated } = translateRequest(from, body, to, {
    facts: { ...upstreamFacts, reasoning: to === 'messages' ? 'budget' : 'effort' },
    stream,
  })
  const name = `${from} → ${to}`
  if (sent)
    compare(
      `${name} request`,
      attempt(() => readRequest(to, translated.body)),
      attempt(() => readRequest(to, sent)),
    )
  const { whole, records } = vendorAnswers[to][step] as unknown as { whole: JsonObject; records: readonly JsonObject[] }
  const about = { conversation: { ...conversation, streamUsage: true }, names: translated.names }
  const ours = attempt(() =>
    stream
      ? readStream(from, translateStream(to, [...records, ...(to === 'chat' ? ['[DONE]'] : [])], from, about).records)
      : readAnswer(adapter(from).parseAnswer(translateAnswer(to, whole, from, about), { issuer: 'up', id: 'x' })),
  )
  const theirs = attempt(() => {
    if (error !== undefined) throw new Error(error.slice(0, 60))
    if (stream) return readStream(from, recordsOfTheirs(got as readonly Json[]))
    return readAnswer(adapter(from).parseAnswer(got ?? null, { issuer: 'up', id: 'x' }))
  })
  compare(`${name} ${stream ? 'stream' : 'answer'}`, ours, theirs)
}

let unexplained = 0
console.log('| difference | times | ours \\| LiteLLM | in favour of | why |\n|---|---:|---|---|---|')
for (const [key, { count, sample }] of [...kinds].toSorted(([one], [other]) => one.localeCompare(other))) {
  const { favour, why } = explain(key) ?? { favour: 'NOT EXPLAINED', why: '' }
  if (why === '') unexplained++
  console.log(`| ${key} | ${count} | ${sample.slice(0, 100).replaceAll(' | ', ' \\| ')} | ${favour} | ${why} |`)
}
console.log(`${cases.length} requests and answers, ${kinds.size} kinds of differences, ${unexplained} not explained`)
if (unexplained > 0) process.exitCode = 1
