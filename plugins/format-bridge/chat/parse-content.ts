import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asList,
  asObject,
  asText,
  type CacheHint,
  checkTypes,
  type JsonObject,
  type Loss,
  type MediaPart,
  type Part,
  RequestFault,
  sourceOfUrl,
  valueAt,
} from '../neutral/index.ts'

/** The parts of a message: its text, or a list. */
export function parseContent(content: Json | undefined, field: string, losses: Loss[]): readonly Part[] {
  if (content === undefined || content === null || content === '') return []
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) throw new RequestFault(field, 'a text or a list')
  return asList(content).flatMap((part, i) => parsePart(part, `${field}[${i}]`, losses))
}

function parsePart(value: Json, field: string, losses: Loss[]): readonly Part[] {
  const part = asObject(value)
  if (!part) throw new RequestFault(field, 'an object')
  const type = asText(part['type'])
  const cached = cacheOf(part)
  const text = asText(part['text'])
  checkTypes(part, { text: 'text refusal' }, `${field}.`)
  if (type === 'text') return text ? [{ kind: 'text', text, ...cached }] : []
  if (type === 'refusal') return [{ kind: 'refusal', text: asText(part['refusal']) ?? '' }]
  const media = parseMedia(part, type)
  if (media) return [{ ...media, ...cached }]
  losses.push({ feature: 'unknown_part', field })
  return []
}

function parseMedia(part: JsonObject, type: string | undefined): MediaPart | undefined {
  if (type === 'image_url') {
    const url = asText(valueAt(part['image_url'], 'url')) ?? asText(part['image_url'])
    const detail = asText(valueAt(part['image_url'], 'detail')) as MediaPart['detail']
    return url === undefined
      ? undefined
      : { kind: 'media', media: 'image', ...sourceOfUrl(url), ...(detail && { detail }) }
  }
  if (type === 'input_audio') {
    const base64 = asText(valueAt(part['input_audio'], 'data'))
    const format = asText(valueAt(part['input_audio'], 'format')) ?? 'wav'
    const mime = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
    return base64 === undefined ? undefined : { kind: 'media', media: 'audio', mime, source: { kind: 'bytes', base64 } }
  }
  const file = type === 'file' ? asObject(part['file']) : undefined
  if (!file) return undefined
  const name = asText(file['filename'])
  const named = name === undefined ? {} : { name }
  const id = asText(file['file_id'])
  if (id !== undefined) return { kind: 'media', media: 'document', source: { kind: 'file', id }, ...named }
  const data = asText(file['file_data'])
  return data === undefined ? undefined : { kind: 'media', media: 'document', ...sourceOfFile(data), ...named }
}

/** A file is a data URL, or only base64. */
function sourceOfFile(data: string) {
  return data.startsWith('data:')
    ? sourceOfUrl(data)
    : { source: { kind: 'bytes' as const, base64: data }, mime: 'application/pdf' }
}

/** `prompt_cache_breakpoint` is the format's own; proxies of other vendors accept `cache_control`. */
function cacheOf(part: JsonObject): { readonly cache?: CacheHint } {
  const hint = asObject(part['cache_control']) ?? asObject(part['prompt_cache_breakpoint'])
  if (!hint && part['prompt_cache_breakpoint'] !== true) return {}
  return { cache: { ttl: hint?.['ttl'] === '1h' ? '1h' : '5m' } }
}
