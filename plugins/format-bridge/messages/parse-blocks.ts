import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asList,
  asNumber,
  asObject,
  asText,
  type CacheHint,
  checkTypes,
  type Citation,
  type JsonObject,
  type Loss,
  type MediaPart,
  type MediaSource,
  optional,
  type Part,
  RequestFault,
  sealOfNextCall,
  unpackSeal,
  valueAt,
} from '../neutral/index.ts'

type Place = { readonly field: string; readonly issuer: string; readonly losses: Loss[] }

/** The parts of a text, or of a list of blocks. */
export function parseBlocks(content: Json | undefined, place: Place): readonly Part[] {
  if (content === undefined || content === null || content === '') return []
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) throw new RequestFault(place.field, 'a text or a list of blocks')
  const parts = asList(content).flatMap((block, i) => parseBlock(block, { ...place, field: `${place.field}[${i}]` }))
  return withSealsOfCalls(parts)
}

function parseBlock(value: Json, place: Place): readonly Part[] {
  const block = asObject(value)
  if (!block) throw new RequestFault(place.field, 'an object')
  const type = asText(block['type'])
  switch (type) {
    case 'text':
      checkTypes(block, { text: 'text' }, `${place.field}.`)
      return parseText(block)
    case 'image':
    case 'document':
      return parseMedia(block, type, place)
    case 'search_result':
      return [{ kind: 'text', text: searchText(block), ...cacheOf(block) }]
    case 'thinking':
    case 'redacted_thinking':
      return parseThought(block, place)
    case 'tool_use':
      return parseCall(block, place)
    case 'tool_result':
      return parseResult(block, place)
    default: {
      if (type === 'web_search_tool_result' || (type === 'server_tool_use' && block['name'] === 'web_search'))
        return dropSearch(place)
      const isHosted = type !== undefined && /server_tool|_tool_result$|mcp_/.test(type)
      place.losses.push({ feature: isHosted ? 'hosted_tool' : 'unknown_part', field: place.field })
      return []
    }
  }
}

/** Drops a search, because the text after it contains its results. */
function dropSearch({ losses, field }: Place): readonly Part[] {
  losses.push({ feature: 'past_search', field })
  return []
}

function parseText(block: JsonObject): readonly Part[] {
  const text = asText(block['text'])
  if (!text) return []
  const citations = parseCitations(block['citations'])
  return [{ kind: 'text', text, ...(citations.length > 0 && { citations }), ...cacheOf(block) }]
}

/** The format cites complete blocks, so its citations have no position in the text. */
export function parseCitations(citations: Json | undefined): readonly Citation[] {
  return asList(citations).map(one => {
    const index = asNumber(valueAt(one, 'document_index'))
    const page = asNumber(valueAt(one, 'start_page_number'))
    const char = asNumber(valueAt(one, 'start_char_index'))
    return {
      ...optional('url', asText(valueAt(one, 'url')) ?? asText(valueAt(one, 'source'))),
      ...optional('title', asText(valueAt(one, 'title')) ?? asText(valueAt(one, 'document_title'))),
      ...optional('quote', asText(valueAt(one, 'cited_text'))),
      ...(index !== undefined && { document: { index, ...optional('page', page), ...optional('char', char) } }),
    }
  })
}

function searchText(block: JsonObject): string {
  const content = asList(block['content']).map(one => asText(valueAt(one, 'text')) ?? '')
  return [asText(block['title']), asText(block['source']), ...content].filter(Boolean).join('\n')
}

function parseMedia(block: JsonObject, media: 'image' | 'document', { field, losses }: Place): readonly Part[] {
  const found = parseSource(asObject(block['source']))
  if (!found) {
    losses.push({ feature: 'unknown_part', field: `${field}.source` })
    return []
  }
  if (valueAt(block['citations'], 'enabled') === true)
    losses.push({ feature: 'citations', field: `${field}.citations` })
  if (block['context'] !== undefined && block['context'] !== null)
    losses.push({ feature: 'media_name', field: `${field}.context` })
  return [{ kind: 'media', media, ...found, ...optional('name', asText(block['title'])), ...cacheOf(block) }]
}

function parseSource(source: JsonObject | undefined): Pick<MediaPart, 'mime' | 'source'> | undefined {
  const of = (found: MediaSource): Pick<MediaPart, 'mime' | 'source'> => ({
    source: found,
    ...optional('mime', asText(source?.['media_type'])),
  })
  const data = asText(source?.['data'])
  const url = asText(source?.['url'])
  const id = asText(source?.['file_id'])
  if (source?.['type'] === 'base64' && data !== undefined) return of({ kind: 'bytes', base64: data })
  if (source?.['type'] === 'text' && data !== undefined) return of({ kind: 'text', text: data })
  if (source?.['type'] === 'url' && url !== undefined) return of({ kind: 'link', url })
  if (source?.['type'] === 'file' && id !== undefined) return of({ kind: 'file', id })
  if (source?.['type'] !== 'content') return undefined
  const content = source['content']
  const text =
    typeof content === 'string'
      ? content
      : asList(content)
          .map(one => asText(valueAt(one, 'text')) ?? '')
          .join('')
  return of({ kind: 'text', text })
}

function parseThought(block: JsonObject, { issuer }: Place): readonly Part[] {
  const text = asText(block['thinking']) ?? ''
  const sealed = asText(block['signature']) || asText(block['data'])
  if (text === '' && !sealed) return []
  const form = text === '' ? ('hidden' as const) : ('full' as const)
  return [{ kind: 'thought', form, text, ...(sealed && { seal: unpackSeal(sealed, issuer) }) }]
}

function parseCall(block: JsonObject, { field }: Place): readonly Part[] {
  const id = asText(block['id'])
  const name = asText(block['name'])
  if (id === undefined || name === undefined) throw new RequestFault(field, 'a call with an id and a name')
  return [{ kind: 'call', id, name, arguments: JSON.stringify(block['input'] ?? {}), ...cacheOf(block) }]
}

function parseResult(block: JsonObject, place: Place): readonly Part[] {
  const id = asText(block['tool_use_id'])
  if (id === undefined) throw new RequestFault(`${place.field}.tool_use_id`, 'the id of a call')
  const parts = parseBlocks(block['content'], { ...place, field: `${place.field}.content` })
  const kept = parts.filter(part => part.kind === 'text' || part.kind === 'media')
  return [{ kind: 'result', id, parts: kept, ...(block['is_error'] === true && { failed: true }), ...cacheOf(block) }]
}

/** A hidden thought that the gateway wrote before a call contains the call's seal. */
function withSealsOfCalls(parts: readonly Part[]): readonly Part[] {
  const out: Part[] = []
  for (const part of parts) {
    const last = out.at(-1)
    const seal = last?.kind === 'thought' && last.form === 'hidden' && last.seal ? sealOfNextCall(last.seal) : undefined
    if (part.kind === 'call' && seal) out[out.length - 1] = { ...part, seal }
    else out.push(part)
  }
  return out
}

export function cacheOf(block: Json): { readonly cache?: CacheHint } {
  const control = asObject(valueAt(block, 'cache_control'))
  return control ? { cache: { ttl: control['ttl'] === '1h' ? '1h' : '5m' } } : {}
}
