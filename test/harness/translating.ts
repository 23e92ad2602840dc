import { adapterOf } from '../../plugins/format-bridge/formats.ts'
import { createUnwrapper, unwrapCall, withoutFreeform } from '../../plugins/format-bridge/freeform.ts'
import {
  type Adapter,
  type AnswerEvent,
  type Conversation,
  type Feature,
  type JsonObject,
  losses as rules,
  type Problem,
  safeCallId,
  type StreamRecord,
  type UpstreamFacts,
  withSafeNames,
  type WriteFacts,
} from '../../plugins/format-bridge/neutral/index.ts'
import type { Json } from '../../src/plugin-api/index.ts'

/** The formats that are translated. */
export const formats = ['chat', 'responses', 'messages', 'generate'] as const
export type Format = (typeof formats)[number]

export function adapter(format: Format): Adapter {
  return adapterOf(format) as Adapter
}

/** A model that reasons by effort, at the upstream `up`. */
export const upstreamFacts: UpstreamFacts = {
  model: 'vendor-model',
  issuer: 'up',
  maxTokens: 8192,
  reasoning: 'effort',
  efforts: ['low', 'medium', 'high'],
  sampling: true,
  limitField: 'max_completion_tokens',
  links: false,
}

export type Sent = {
  readonly conversation: Conversation
  /** The upstream's request. */
  readonly body: JsonObject
  /** The client's names of tools, by the names that were sent. */
  readonly names: ReadonlyMap<string, string>
  readonly refused: readonly Feature[]
  readonly dropped: readonly Feature[]
}

/** Translates a request of one format to another, as the plugin does. */
export function translateRequest(
  from: Format,
  body: JsonObject,
  to: Format,
  { facts = {}, stream = false }: { readonly facts?: Partial<UpstreamFacts>; readonly stream?: boolean } = {},
): Sent {
  const conversation = adapter(from).parseRequest({ body, stream, issuer: 'client' })
  const upstream = adapter(to)
  const plain = upstream.carries.has('grammar') ? conversation : withoutFreeform(conversation)
  const { conversation: safe, names } = withSafeNames(plain)
  const written = upstream.writeRequest(safe, { ...upstreamFacts, ...facts })
  const lost = [...conversation.losses, ...written.losses].map(({ feature }) => feature)
  const of = (rule: 'refuse' | 'drop'): readonly Feature[] => [...new Set(lost.filter(one => rules[one] === rule))]
  return { conversation, body: written.body, names, refused: of('refuse'), dropped: of('drop') }
}

const nothing: Conversation = { turns: [], tools: [], sampling: {}, stream: true, streamUsage: true, losses: [] }
const parseFacts = { issuer: 'up', id: 'x1' }

type Asked = Partial<Pick<Sent, 'conversation' | 'names'>>

function factsOf({ conversation = nothing }: Asked): WriteFacts {
  return { id: 'x1', created: 1, model: 'my-model', request: conversation, inputEstimate: 9, form: 'events' }
}

function freeformOf({ conversation = nothing }: Asked): ReadonlySet<string> {
  return new Set(conversation.tools.filter(tool => tool.freeform).map(tool => tool.name))
}

/** Translates a complete answer of one format to another, for the request that was sent. */
export function translateAnswer(up: Format, body: Json, down: Format, request: Asked = {}): JsonObject {
  const answer = adapter(up).parseAnswer(body, parseFacts)
  const freeform = freeformOf(request)
  const parts = answer.parts.map(part => {
    if (part.kind !== 'call') return part
    const call = { ...part, id: safeCallId(part.id), name: request.names?.get(part.name) ?? part.name }
    return freeform.has(call.name) && !call.freeform ? unwrapCall(call) : call
  })
  return adapter(down).writeAnswer({ ...answer, parts }, factsOf(request))
}

export type Streamed = {
  /** The client's answer. */
  readonly text: string
  readonly records: readonly JsonObject[]
  readonly problem?: Problem
}

/** Translates a stream of one format, given as records, to another. */
export function translateStream(
  up: Format,
  records: readonly (Json | string)[],
  down: Format,
  request: Asked = {},
): Streamed {
  const writer = adapter(down).createStreamWriter(factsOf(request))
  const unwrap = createUnwrapper(freeformOf(request))
  let text = ''
  let problem: Problem | undefined
  for (const event of readRecords(up, records)) {
    if (event.kind === 'error') problem = event.problem
    else for (const own of unwrap(withName(event, request.names))) text += writer.write(own)
  }
  const read = recordsOf(text).map(({ data }) => data)
  const objects = read.filter(data => data !== '[DONE]').map(data => JSON.parse(data) as JsonObject)
  return { text, records: objects, ...(problem && { problem }) }
}

/** The neutral events of a stream: each record is an object, or the text of its data. */
export function readRecords(up: Format, records: readonly (Json | string)[]): readonly AnswerEvent[] {
  const parser = adapter(up).createStreamParser(parseFacts)
  const read = records.flatMap(record =>
    parser.read({ event: '', data: typeof record === 'string' ? record : JSON.stringify(record) }),
  )
  return [...read, ...parser.end()]
}

function withName(event: AnswerEvent, names: ReadonlyMap<string, string> = new Map()): AnswerEvent {
  if (event.kind !== 'open' || event.part.kind !== 'call') return event
  const { part } = event
  return { ...event, part: { ...part, id: safeCallId(part.id), name: names.get(part.name) ?? part.name } }
}

/** The records of an event stream. */
export function recordsOf(text: string): readonly StreamRecord[] {
  return text
    .split(/\r?\n\r?\n/)
    .map(block => block.split(/\r?\n/))
    .map(lines => {
      const value = (name: string): string =>
        lines
          .filter(line => line.startsWith(`${name}:`))
          .map(line => line.slice(name.length + 1).replace(/^ /, ''))
          .join('\n')
      return { event: value('event'), data: value('data') }
    })
    .filter(({ data }) => data !== '')
}
