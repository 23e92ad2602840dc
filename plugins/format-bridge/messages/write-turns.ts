import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asObject,
  type CallPart,
  compact,
  groupRuns,
  joinTurns,
  type JsonObject,
  type Loss,
  type MediaPart,
  parseJson,
  type Part,
  type ThoughtPart,
  type Turn,
  type UpstreamFacts,
} from '../neutral/index.ts'
import { writeCache } from './write-cache.ts'

type Place = { readonly to: UpstreamFacts; readonly losses: Loss[] }

/**
 * Consecutive turns with the same role become one message. Later instructions stay in their position, in a user
 * message. An empty turn, such as that of an interrupted answer, is dropped, because the vendor refuses a message
 * without content.
 */
export function writeTurns(turns: readonly Turn[], place: Place): readonly JsonObject[] {
  const own = turns.map(({ role, parts }) => ({
    role: role === 'assistant' ? 'assistant' : 'user',
    parts: role === 'system' ? asInstructions(parts) : parts,
  }))
  const messages = groupRuns(own, isSameRole)
    .map(joinTurns)
    .map(({ role, parts }) => ({ role, content: writeBlocks(resultsFirst(parts), place) }))
    .filter(({ content }) => content.length > 0)
  return groupRuns(messages, isSameRole).map(([first, ...others]) =>
    others.length === 0 ? first : { ...first, content: [first, ...others].flatMap(({ content }) => content) },
  )
}

type WithRole = { readonly role: string }

const isSameRole = (first: WithRole, one: WithRole): boolean => first.role === one.role

function asInstructions(parts: readonly Part[]): readonly Part[] {
  return parts.map(part => (part.kind === 'text' ? { ...part, text: `<system>\n${part.text}\n</system>` } : part))
}

/** Results must precede all other parts of a user turn. */
function resultsFirst(parts: readonly Part[]): readonly Part[] {
  const results = parts.filter(part => part.kind === 'result')
  return results.length === 0 ? parts : [...results, ...parts.filter(part => part.kind !== 'result')]
}

export function writeBlocks(parts: readonly Part[], place: Place): readonly JsonObject[] {
  return parts.flatMap((part): readonly JsonObject[] => {
    const block = writeBlock(part, place)
    return block ? [block] : []
  })
}

function writeBlock(part: Part, place: Place): JsonObject | undefined {
  switch (part.kind) {
    case 'text':
      // The vendor refuses a blank text.
      return part.text.trim() === '' ? undefined : { type: 'text', text: part.text, ...writeCache(part.cache) }
    case 'refusal':
      return part.text === '' ? undefined : { type: 'text', text: part.text }
    case 'media':
      return writeMedia(part, place)
    case 'call':
      return writeCall(part, place.losses)
    case 'result':
      return compact({
        type: 'tool_result',
        tool_use_id: part.id,
        content: writeBlocks(part.parts, place),
        is_error: part.failed,
        ...writeCache(part.cache),
      })
    default:
      return writeThought(part, place)
  }
}

/** Thoughts of another issuer are dropped, because the vendor would refuse their signature. */
function writeThought({ seal, text, form }: ThoughtPart, { to, losses }: Place): JsonObject | undefined {
  if (seal?.issuer !== to.issuer) return void losses.push({ feature: 'thought' })
  if (form === 'hidden') return { type: 'redacted_thinking', data: seal.value }
  return { type: 'thinking', thinking: text, signature: seal.value }
}

function writeCall({ id, name, arguments: text, cache }: CallPart, losses: Loss[]): JsonObject {
  const input: Json | undefined = text.trim() === '' ? {} : parseJson(text)
  if (!asObject(input)) losses.push({ feature: 'call_arguments', field: `the arguments of ${name}` })
  return { type: 'tool_use', id, name, input: asObject(input) ?? {}, ...writeCache(cache) }
}

const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

function writeMedia(part: MediaPart, { to, losses }: Place): JsonObject | undefined {
  const { media, source, name } = part
  if (media !== 'image' && media !== 'document') return void losses.push({ feature: 'media' })
  if (part.detail && part.detail !== 'auto') losses.push({ feature: 'detail' })
  const block = (own: JsonObject): JsonObject =>
    compact({ type: media, source: own, title: media === 'document' ? name : undefined, ...writeCache(part.cache) })
  if (source.kind === 'file') return void losses.push({ feature: 'vendor_file' })
  if (source.kind === 'link') {
    if (!to.links) return void losses.push({ feature: 'media_link' })
    return block({ type: 'url', url: source.url })
  }
  if (source.kind === 'text') return block({ type: 'text', media_type: 'text/plain', data: source.text })
  const mime = part.mime ?? (media === 'image' ? 'image/png' : 'application/pdf')
  if (media === 'document' && mime.startsWith('text/'))
    return block({ type: 'text', media_type: 'text/plain', data: Buffer.from(source.base64, 'base64').toString() })
  if (media === 'image' ? !imageTypes.has(mime) : mime !== 'application/pdf')
    return void losses.push({ feature: 'media', field: `a file of type ${mime}` })
  return block({ type: 'base64', media_type: mime, data: source.base64 })
}
