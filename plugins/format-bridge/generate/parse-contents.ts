import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asObject,
  asText,
  groupRuns,
  isAbsent,
  joinTurns,
  type JsonObject,
  type Loss,
  type MediaPart,
  type MediaSource,
  optional,
  type Part,
  RequestFault,
  type ResultPart,
  type TextPart,
  type Turn,
  unpackSeal,
} from '../neutral/index.ts'
import { camelCased, repeated } from './fields.ts'

type Place = { readonly issuer: string; readonly losses: Loss[] }

export function parseSystem(value: Json | undefined, losses: Loss[]): readonly Turn[] {
  if (isAbsent(value)) return []
  const list = typeof value === 'string' ? [{ text: value }] : (repeated(camelCased(value)['parts']) ?? [])
  const parts = list.flatMap((part, i) => {
    const text = asText(camelCased(part)['text'])
    if (text === undefined) losses.push({ feature: 'unknown_part', field: `systemInstruction.parts[${i}]` })
    return text ? [{ kind: 'text', text } as const] : []
  })
  return parts.length > 0 ? [{ role: 'system', parts }] : []
}

/** Ids are optional in this format. A call without one gets its position as its id, and results refer to it by name. */
type CallIds = {
  /** The calls of a tool, by its name. */
  readonly byName: Map<string, CallsOfTool>
  count: number
}

/** The ids of calls in order. The calls before `next`, and those in `answered`, have a result. */
type CallsOfTool = { readonly ids: string[]; next: number; readonly answered: Set<string> }

export function parseContents(contents: readonly Json[], place: Place): readonly Turn[] {
  const ids: CallIds = { byName: new Map(), count: 0 }
  const turns = contents.map((value, i): Turn => {
    const content = camelCased(typeof value === 'string' ? { parts: [{ text: value }] } : value)
    const role = asText(content['role']) ?? 'user'
    const field = `contents[${i}]`
    if (!['user', 'model', 'function', 'tool'].includes(role)) throw new RequestFault(`${field}.role`, 'user or model')
    const given = repeated(content['parts'])
    if (!given) throw new RequestFault(`${field}.parts`, 'a list')
    const parts = given.flatMap((part, j) => parsePart(part, `${field}.parts[${j}]`, place, ids))
    return { role: role === 'model' ? 'assistant' : 'user', parts }
  })
  return joinAnswers(turns)
}

/** SDKs store each record of a stream as a separate content, so these are joined to one answer. */
function joinAnswers(turns: readonly Turn[]): readonly Turn[] {
  return groupRuns(turns, (first, turn) => first.role === 'assistant' && turn.role === 'assistant')
    .map(joinTurns)
    .map(turn => (turn.role === 'assistant' ? { ...turn, parts: joinPieces(turn.parts) } : turn))
}

/** Joins the pieces of one text or one thought. The signature is in the last piece, or follows it without a text. */
function joinPieces(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    const isPiece = (part.kind === 'text' || part.kind === 'thought') && last?.kind === part.kind && !last.seal
    if (isPiece) joined[joined.length - 1] = { ...last, text: last.text + part.text, ...optional('seal', part.seal) }
    else joined.push(part)
  }
  return joined
}

function parsePart(value: Json, field: string, { issuer, losses }: Place, ids: CallIds): readonly Part[] {
  if (!asObject(value)) throw new RequestFault(field, 'an object')
  const part = camelCased(value)
  const signature = asText(part['thoughtSignature'])
  const sealed = signature === undefined ? {} : { seal: unpackSeal(signature, issuer) }
  const text = asText(part['text'])
  if (part['thought'] === true) {
    if (!text && signature === undefined) return []
    return [{ kind: 'thought', text: text ?? '', form: text ? 'summary' : 'hidden', ...sealed }]
  }
  if (text !== undefined) {
    if (text !== '') return [{ kind: 'text', text, ...sealed }]
    return signature === undefined ? [] : [{ kind: 'thought', text: '', form: 'hidden', ...sealed }]
  }
  if (part['functionCall'] !== undefined) {
    const own = camelCased(part['functionCall'])
    const name = asText(own['name'])
    if (name === undefined) throw new RequestFault(`${field}.functionCall.name`, 'the name of a function')
    const id = asText(own['id']) || `call_${ids.count}`
    ids.count += 1
    openCall(ids, name, id)
    return [{ kind: 'call', id, name, arguments: JSON.stringify(own['args'] ?? {}), ...sealed }]
  }
  if (part['functionResponse'] !== undefined) return [parseResult(camelCased(part['functionResponse']), field, ids)]
  const media = parseMedia(part)
  if (media) return [{ ...media, ...sealed }]
  losses.push({ feature: part['inlineData'] || part['fileData'] ? 'media' : 'unknown_part', field })
  return []
}

function openCall({ byName }: CallIds, name: string, id: string): void {
  const calls = byName.get(name) ?? { ids: [], next: 0, answered: new Set() }
  byName.set(name, calls)
  calls.ids.push(id)
  calls.answered.delete(id)
}

/** The id of the first call without a result. */
function firstOpen(calls: CallsOfTool): string | undefined {
  while (calls.answered.has(calls.ids[calls.next] ?? '')) calls.next++
  return calls.ids[calls.next]
}

function parseResult(own: JsonObject, field: string, ids: CallIds): ResultPart {
  const name = asText(own['name'])
  const calls = ids.byName.get(name ?? '')
  const id = asText(own['id']) || (calls && firstOpen(calls))
  if (id === undefined) throw new RequestFault(`${field}.functionResponse.name`, 'the name of a call before it')
  calls?.answered.add(id)
  const { text, failed } = parseResponse(own['response'])
  const media = (repeated(own['parts']) ?? []).flatMap(part => parseMedia(camelCased(part)) ?? [])
  const texts: readonly TextPart[] = text === '' ? [] : [{ kind: 'text', text }]
  return {
    kind: 'result',
    id,
    ...optional('name', name),
    parts: [...texts, ...media],
    ...(failed && { failed: true }),
  }
}

/** The vendor documents the names `output` and `error`; its SDK writes `result`. */
function parseResponse(value: Json | undefined): { readonly text: string; readonly failed: boolean } {
  const response = asObject(value)
  if (!response) return { text: isAbsent(value) ? '' : JSON.stringify(value), failed: false }
  const [name, ...others] = Object.keys(response)
  if (name === undefined) return { text: '', failed: false }
  const only = others.length === 0 ? response[name] : undefined
  if (typeof only === 'string' && (name === 'output' || name === 'result')) return { text: only, failed: false }
  if (only !== undefined && name === 'error')
    return { text: typeof only === 'string' ? only : JSON.stringify(only), failed: true }
  return { text: JSON.stringify(response), failed: false }
}

function parseMedia(part: JsonObject): MediaPart | undefined {
  const inline = camelCased(part['inlineData'])
  const file = camelCased(part['fileData'])
  const data = asText(inline['data'])
  const uri = asText(file['fileUri'])
  const mime = asText(inline['mimeType']) ?? asText(file['mimeType'])
  const name = asText(inline['displayName']) ?? asText(file['displayName'])
  if (data === undefined && uri === undefined) return undefined
  const source: MediaSource =
    data !== undefined ? { kind: 'bytes', base64: standardBase64(data) } : sourceOfUri(uri ?? '')
  return { kind: 'media', media: mediaOf(mime), ...optional('mime', mime), source, ...optional('name', name) }
}

/** The vendor's own files have links too, which no other vendor can read. */
function sourceOfUri(uri: string): MediaSource {
  return /\/v1(?:beta|alpha)?\/files\/|^gs:/.test(uri) ? { kind: 'file', id: uri } : { kind: 'link', url: uri }
}

/** The format also accepts the URL-safe alphabet. */
function standardBase64(data: string): string {
  return /[-_]/.test(data) ? Buffer.from(data, 'base64url').toString('base64') : data
}

function mediaOf(mime = ''): MediaPart['media'] {
  const kind = mime.split('/')[0]
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document'
}
