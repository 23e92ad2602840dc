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
  optional,
  type ParseFacts,
  type Part,
  type Problem,
  type Stop,
  valueAt,
} from '../neutral/index.ts'
import { parseLogprobs } from '../openai/logprobs.ts'
import { parseUsage } from '../openai/usage.ts'

export function parseAnswer(body: Json, facts: ParseFacts): Answer {
  const own = asObject(body)
  if (!own || !Array.isArray(own['output'])) throw new AnswerFault('it has no output')
  const parts = asList(own['output']).flatMap(item => parseItem(item, facts))
  return {
    ...optional('id', asText(own['id'])),
    ...optional('model', asText(own['model'])),
    parts,
    stop: parseStop(own, parts),
    ...optional('usage', parseUsage(own['usage'])),
    ...optional('serviceTier', asText(own['service_tier'])),
  }
}

/** Drops items of the vendor's own tools, because requests with such tools are refused. */
export function parseItem(item: Json, { issuer, id }: ParseFacts): readonly Part[] {
  const own = asObject(item) ?? {}
  switch (own['type']) {
    case 'message':
      return asList(own['content']).flatMap(parseContent)
    case 'reasoning':
      return parseThought(own, issuer)
    case 'function_call':
    case 'custom_tool_call':
      return [parseCall(own, id)]
    case 'image_generation_call':
      return parseImage(own)
    default:
      return []
  }
}

export function parseContent(value: Json): readonly Part[] {
  const refusal = asText(valueAt(value, 'refusal'))
  if (refusal !== undefined) return [{ kind: 'refusal', text: refusal }]
  const text = asText(valueAt(value, 'text'))
  if (text === undefined) return []
  const citations = asList(valueAt(value, 'annotations')).flatMap(parseCitation)
  const logprobs = parseLogprobs(valueAt(value, 'logprobs'))
  return [
    {
      kind: 'text',
      text,
      ...(citations.length > 0 && { citations }),
      ...(logprobs.length > 0 && { logprobs }),
    },
  ]
}

function parseThought(own: JsonObject, issuer: string): readonly Part[] {
  const text = thoughtOf(own)
  const sealed = asText(own['encrypted_content'])
  if (text === '' && sealed === undefined) return []
  const form = text === '' ? 'hidden' : asList(own['summary']).length > 0 ? 'summary' : 'full'
  return [{ kind: 'thought', text, form, ...(sealed !== undefined && { seal: { issuer, value: sealed } }) }]
}

/** The texts of a reasoning item: its summary, or the model's own text. */
export function thoughtOf(own: JsonObject): string {
  const summary = asList(own['summary'])
  const texts = summary.length > 0 ? summary : asList(own['content'])
  return texts.map(one => asText(valueAt(one, 'text')) ?? '').join('\n\n')
}

export function parseCall(own: JsonObject, id: string): Extract<Part, { kind: 'call' }> {
  const isFreeform = own['type'] === 'custom_tool_call'
  return {
    kind: 'call',
    id: asText(own['call_id']) || asText(own['id']) || `call_${id}`,
    name: asText(own['name']) ?? '',
    arguments: isFreeform ? (asText(own['input']) ?? '') : asText(own['arguments']) || '{}',
    ...(isFreeform && { freeform: true }),
  }
}

export function parseImage(own: JsonObject): readonly Extract<Part, { kind: 'media' }>[] {
  const base64 = asText(own['result'])
  if (base64 === undefined) return []
  const mime = `image/${asText(own['output_format']) ?? 'png'}`
  return [{ kind: 'media', media: 'image', mime, source: { kind: 'bytes', base64 } }]
}

export function parseCitation(value: Json): readonly Citation[] {
  const url = asText(valueAt(value, 'url'))
  if (url === undefined) return []
  return [
    {
      ...optional('from', asNumber(valueAt(value, 'start_index'))),
      ...optional('to', asNumber(valueAt(value, 'end_index'))),
      url,
      ...optional('title', asText(valueAt(value, 'title'))),
    },
  ]
}

/** @throws AnswerFault for a failed response */
export function parseStop(own: JsonObject, parts: readonly Pick<Part, 'kind'>[]): Stop {
  const reason = asText(valueAt(own['incomplete_details'], 'reason'))
  if (own['status'] === 'failed' || own['status'] === 'cancelled')
    throw new AnswerFault(asText(valueAt(own['error'], 'message')) ?? `its status is ${own['status']}`)
  if (own['status'] === 'incomplete')
    return { why: reason === 'content_filter' ? 'refused' : 'length', ...optional('raw', reason) }
  if (parts.some(part => part.kind === 'call')) return { why: 'calls' }
  return { why: parts.some(part => part.kind === 'refusal') ? 'refused' : 'end' }
}

export function parseProblem(status: number, body: Json): Problem {
  const error = valueAt(body, 'error') ?? valueAt(body, 'response', 'error') ?? body
  const code = asText(valueAt(error, 'code')) ?? asText(valueAt(error, 'type'))
  return {
    status: code === 'rate_limit_exceeded' && status === 502 ? 429 : status,
    message: asText(valueAt(error, 'message')) ?? '',
    ...optional('code', code),
  }
}
