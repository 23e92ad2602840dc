import type { Json } from '../../../src/plugin-api/index.ts'
import {
  type Answer,
  AnswerFault,
  asList,
  asNumber,
  asObject,
  asText,
  type Citation,
  type JsonObject,
  type MediaPart,
  optional,
  type ParseFacts,
  type Part,
  type Problem,
  type Seal,
  type Stop,
  valueAt,
} from '../neutral/index.ts'
import { parseLogprobs } from '../openai/logprobs.ts'
import { parseUsage } from '../openai/usage.ts'

export function parseAnswer(body: Json, { issuer, id }: ParseFacts): Answer {
  const choice = asObject(asList(valueAt(body, 'choices'))[0])
  const message = asObject(choice?.['message'])
  if (!message) throw new AnswerFault('it has no choices[0].message')
  const parts = parseMessage(message, choice?.['logprobs'], issuer, id)
  const usage = parseUsage(valueAt(body, 'usage'))
  return {
    ...optional('id', asText(valueAt(body, 'id'))),
    ...optional('model', asText(valueAt(body, 'model'))),
    parts,
    stop: parseStop(choice?.['finish_reason'], parts),
    ...optional('usage', usage),
    ...optional('serviceTier', asText(valueAt(body, 'service_tier'))),
  }
}

function parseMessage(message: JsonObject, logprobs: Json | undefined, issuer: string, id: string): readonly Part[] {
  const thought = thoughtOf(message)
  const text = textOf(message['content'])
  const refusal = asText(message['refusal'])
  const citations = parseCitations(message['annotations'])
  const tokens = parseLogprobs(valueAt(logprobs, 'content'))
  return [
    ...(thought ? [{ kind: 'thought', form: 'full', text: thought, seal: sealOfThoughts(issuer) } as const] : []),
    ...(text
      ? [
          {
            kind: 'text',
            text,
            ...(citations.length > 0 && { citations }),
            ...(tokens.length > 0 && { logprobs: tokens }),
          } as const,
        ]
      : []),
    ...imagesOf(message),
    ...(refusal ? [{ kind: 'refusal', text: refusal } as const] : []),
    ...asList(message['tool_calls']).flatMap((call, i) => parseCall(call, i, issuer, id)),
  ]
}

/** The thought in a message, for which vendors use two names. */
export function thoughtOf(message: JsonObject): string | undefined {
  return asText(message['reasoning_content']) ?? asText(message['reasoning'])
}

/** Upstreams that send thoughts in this format require their text in the next request, and sign nothing. */
export function sealOfThoughts(issuer: string): Seal {
  return { issuer, value: 'text' }
}

export function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return asList(content)
    .map(part => asText(valueAt(part, 'text')) ?? '')
    .join('')
}

/** Images that some vendors add to the message. */
export function imagesOf(message: JsonObject): readonly MediaPart[] {
  return asList(message['images']).flatMap(image => {
    const url = asText(valueAt(image, 'image_url', 'url'))
    const data = url === undefined ? null : /^data:([^;,]+);base64,/.exec(url)
    if (url === undefined || !data) return []
    const base64 = url.slice(data[0].length)
    return [{ kind: 'media', media: 'image', mime: data[1] ?? 'image/png', source: { kind: 'bytes', base64 } } as const]
  })
}

function parseCall(call: Json, i: number, issuer: string, id: string): readonly Part[] {
  const own = asObject(valueAt(call, 'function'))
  const name = asText(own?.['name'])
  if (name === undefined) return []
  const sealed = asText(valueAt(call, 'extra_content', 'google', 'thought_signature'))
  return [
    {
      kind: 'call',
      id: asText(valueAt(call, 'id')) || `call_${id}_${i}`,
      name,
      arguments: argumentsOf(own) || '{}',
      ...(sealed !== undefined && { seal: { issuer, value: sealed } }),
    },
  ]
}

/** Some vendors send arguments as an object instead of JSON text. */
export function argumentsOf(own: JsonObject | undefined): string {
  const value = own?.['arguments']
  return asText(value) ?? (asObject(value) ? JSON.stringify(value) : '')
}

export function parseCitations(annotations: Json | undefined): readonly Citation[] {
  return asList(annotations).flatMap(one => {
    const cited = asObject(valueAt(one, 'url_citation'))
    return cited
      ? [
          {
            ...optional('from', asNumber(cited['start_index'])),
            ...optional('to', asNumber(cited['end_index'])),
            ...optional('url', asText(cited['url'])),
            ...optional('title', asText(cited['title'])),
          },
        ]
      : []
  })
}

/** Calls override only an ordinary end, not that of an incomplete or refused answer. */
export function parseStop(reason: Json | undefined, parts: readonly Pick<Part, 'kind'>[]): Stop {
  const raw = optional('raw', asText(reason))
  if (reason === 'length') return { why: 'length', ...raw }
  if (reason === 'content_filter') return { why: 'refused', ...raw }
  if (parts.some(part => part.kind === 'call')) return { why: 'calls', ...raw }
  return { why: parts.some(part => part.kind === 'refusal') ? 'refused' : 'end', ...raw }
}

export function parseProblem(status: number, body: Json): Problem {
  const error = valueAt(body, 'error') ?? body
  const named = asText(valueAt(error, 'message')) ?? asText(valueAt(body, 'message'))
  // Servers of open models often have only `detail`.
  const message = named ?? asText(valueAt(body, 'detail')) ?? asText(error)
  const code = asText(valueAt(error, 'code')) ?? asText(valueAt(error, 'type'))
  const number = asNumber(valueAt(error, 'code')) ?? asNumber(valueAt(error, 'status'))
  const isStatus = number !== undefined && number >= 400 && number < 600
  return { status: isStatus ? number : status, message: message ?? '', ...optional('code', code) }
}
