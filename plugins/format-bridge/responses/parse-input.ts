import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asList,
  asObject,
  asText,
  checkTypes,
  type JsonObject,
  type Loss,
  type MediaPart,
  type MediaSource,
  optional,
  type Part,
  RequestFault,
  type ResultPart,
  sourceOfUrl,
  type TextPart,
  type Turn,
  unpackSeal,
  valueAt,
} from '../neutral/index.ts'
import { joinedName } from './namespaces.ts'

type Place = { readonly issuer: string; readonly losses: Loss[] }

type Step = { readonly role: Turn['role']; readonly parts: Part[]; readonly results: Part[] }

/**
 * Consecutive items of one speaker are one turn: a message, its reasoning and its calls. Results are in the turn after
 * that of their calls, regardless of the client's order, because the other formats accept no other place.
 */
export function parseInput(input: Json | undefined, place: Place): readonly Turn[] {
  if (typeof input === 'string') return [{ role: 'user', parts: [{ kind: 'text', text: input }] }]
  if (!Array.isArray(input)) throw new RequestFault('input', 'a text or a list')
  const steps: Step[] = []
  const callers = new Map<string, Step>()
  for (const [i, item] of asList(input).entries()) {
    const turn = parseItem(item, `input[${i}]`, place)
    const [part] = turn?.parts ?? []
    if (!turn || !part) continue
    const last = steps.at(-1)
    const caller = part.kind === 'result' ? callers.get(part.id) : undefined
    if (caller) caller.results.push(part)
    else if (turn.role === 'assistant' && last?.role === 'assistant' && last.results.length === 0)
      for (const one of turn.parts) last.parts.push(one)
    else steps.push({ role: turn.role, parts: [...turn.parts], results: [] })
    const step = steps.at(-1)
    if (part.kind === 'call' && step) callers.set(part.id, step)
  }
  return steps.flatMap(({ role, parts, results }): readonly Turn[] =>
    results.length > 0
      ? [
          { role, parts },
          { role: 'user', parts: results },
        ]
      : [{ role, parts }],
  )
}

function parseItem(value: Json, field: string, place: Place): Turn | undefined {
  const item = asObject(value)
  if (!item) throw new RequestFault(field, 'an object')
  const type = asText(item['type']) ?? 'message'
  switch (type) {
    case 'message':
      return parseMessage(item, field, place)
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [parseCall(item, type, field)] }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'user', parts: [parseResult(item, type, field, place)] }
    // `parseRequest` parses these.
    case 'additional_tools':
      return undefined
    case 'reasoning':
      return { role: 'assistant', parts: parseThought(item, place.issuer) }
    // A search is dropped, because the message after it contains its results.
    case 'web_search_call':
      place.losses.push({ feature: 'past_search', field })
      return undefined
    default:
      place.losses.push({ feature: type === 'item_reference' ? 'state' : 'unknown_part', field })
      return undefined
  }
}

function parseMessage(item: JsonObject, field: string, place: Place): Turn {
  const { role, content } = item
  checkTypes(item, { 'text or list': 'content' }, `${field}.`)
  const parts: readonly Part[] =
    typeof content === 'string'
      ? content === ''
        ? []
        : [{ kind: 'text', text: content }]
      : asList(content).flatMap((part, i) => parsePart(part, `${field}.content[${i}]`, place))
  if (role === 'system' || role === 'developer') return { role: 'system', parts }
  if (role === 'user' || role === 'assistant') return { role, parts }
  throw new RequestFault(`${field}.role`, 'system, developer, user or assistant')
}

function parsePart(value: Json, field: string, { losses }: Place): readonly (TextPart | MediaPart | Part)[] {
  const part = asObject(value)
  if (!part) throw new RequestFault(field, 'an object')
  const type = asText(part['type'])
  const text = asText(part['text'])
  checkTypes(part, { text: 'text refusal' }, `${field}.`)
  if (type === 'input_text' || type === 'output_text' || type === 'text') return text ? [{ kind: 'text', text }] : []
  if (type === 'refusal') return [{ kind: 'refusal', text: asText(part['refusal']) ?? '' }]
  const media = parseMedia(part, type)
  if (media) return [media]
  losses.push({ feature: type === 'input_audio' ? 'media' : 'unknown_part', field })
  return []
}

function parseMedia(part: JsonObject, type: string | undefined): MediaPart | undefined {
  const id = asText(part['file_id'])
  const vendorFile: MediaSource | undefined = id === undefined ? undefined : { kind: 'file', id }
  if (type === 'input_image') {
    const url = asText(part['image_url'])
    const own = asText(part['detail'])
    // `auto` is dropped, because most clients send this default.
    const detail: MediaPart['detail'] = own === 'low' || own === 'high' ? own : undefined
    const found = url === undefined ? vendorFile && { source: vendorFile } : sourceOfUrl(url)
    return found && { kind: 'media', media: 'image', ...found, ...optional('detail', detail) }
  }
  if (type === 'input_file') {
    const named = optional('name', asText(part['filename']))
    const link = asText(part['file_url'])
    const data = asText(part['file_data'])
    if (data !== undefined) {
      const found = data.startsWith('data:')
        ? sourceOfUrl(data)
        : { source: { kind: 'bytes', base64: data } as const, mime: 'application/pdf' }
      return { kind: 'media', media: 'document', ...found, ...named }
    }
    const source: MediaSource | undefined = link === undefined ? vendorFile : { kind: 'link', url: link }
    return source && { kind: 'media', media: 'document', source, ...named }
  }
  const base64 = type === 'input_audio' ? asText(valueAt(part['input_audio'], 'data')) : undefined
  if (base64 === undefined) return undefined
  const format = asText(valueAt(part['input_audio'], 'format')) ?? 'wav'
  const mime = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
  return { kind: 'media', media: 'audio', mime, source: { kind: 'bytes', base64 } }
}

function parseCall(item: JsonObject, type: string, field: string): Part {
  const id = asText(item['call_id'])
  const own = asText(item['name'])
  if (id === undefined || own === undefined) throw new RequestFault(field, 'a call with a call_id and a name')
  checkTypes(item, { text: 'arguments input' }, `${field}.`)
  const space = asText(item['namespace'])
  const name = space ? joinedName(space, own) : own
  if (type === 'custom_tool_call')
    return { kind: 'call', id, name, arguments: asText(item['input']) ?? '', freeform: true }
  return { kind: 'call', id, name, arguments: asText(item['arguments']) ?? '' }
}

function parseResult(item: JsonObject, type: string, field: string, place: Place): ResultPart {
  const id = asText(item['call_id'])
  if (id === undefined) throw new RequestFault(`${field}.call_id`, 'the id of a call')
  const { output } = item
  checkTypes(item, { 'text or list': 'output' }, `${field}.`)
  const parts: readonly Part[] =
    typeof output === 'string'
      ? output === ''
        ? []
        : [{ kind: 'text', text: output }]
      : asList(output).flatMap((part, i) => parsePart(part, `${field}.output[${i}]`, place))
  const own = parts.filter(part => part.kind === 'text' || part.kind === 'media')
  return { kind: 'result', id, parts: own, ...(type === 'custom_tool_call_output' && { freeform: true }) }
}

/** Encrypted content without a mark belongs to this format's vendor; the gateway's seals contain their issuer. */
function parseThought(item: JsonObject, issuer: string): readonly Part[] {
  const texts = [...asList(item['summary']), ...asList(item['content'])].flatMap(
    one => asText(valueAt(one, 'text')) ?? [],
  )
  const text = texts.join('\n\n')
  const sealed = asText(item['encrypted_content'])
  if (text === '' && sealed === undefined) return []
  return [
    {
      kind: 'thought',
      text,
      form: text === '' ? 'hidden' : 'summary',
      ...(sealed !== undefined && { seal: unpackSeal(sealed, issuer) }),
    },
  ]
}
