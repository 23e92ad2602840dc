import { type Body, isObject, type Json, readField, withFields } from '../../src/plugin-api/index.ts'
import { isPacked, packedBegin } from './neutral/index.ts'

/** The fields for the earlier conversation in requests of each format. */
const places = ['messages', 'input', 'contents'] as const
const begin = Buffer.from(packedBegin)
const unsigned = Buffer.from('"signature":""')
/** Members with the seal of a thought, and members with that of another part. */
const ofThoughts = ['signature', 'data', 'encrypted_content']
const ofParts = ['thoughtSignature', 'thought_signature']

/**
 * An untranslated request without the thoughts of translated models that its client has returned, because their vendor
 * would refuse a foreign seal.
 */
export function withoutTranslatedThoughts(body: Body): Body {
  if (body.kind !== 'json' || !(body.json.bytes.includes(begin) || body.json.bytes.includes(unsigned))) return body
  const changes = new Map<string, Json>()
  for (const place of places) {
    const value = readField(body, place)
    if (Array.isArray(value)) changes.set(place, listOf(value) ?? [])
  }
  return changes.size === 0 ? body : withFields(body, changes)
}

function listOf(all: readonly Json[]): Json | undefined {
  const kept = all.map(ownOf).filter(one => one !== undefined)
  if (kept.length === all.length && kept.every((one, i) => one === all[i])) return all
  return kept.length === 0 && all.length > 0 ? undefined : kept
}

/** The value without these thoughts; undefined if nothing else is in it. */
function ownOf(value: Json): Json | undefined {
  if (Array.isArray(value)) return listOf(value)
  if (!isObject(value)) return value
  if (ofThoughts.some(name => isPacked(value[name]))) return undefined
  if (value['type'] === 'thinking' && value['signature'] === '') return undefined
  if (value['thought'] === true && ofParts.some(name => isPacked(value[name]))) return undefined
  const kept: { [name: string]: Json } = {}
  let isSame = true
  for (const [name, member] of Object.entries(value)) {
    const own = ofParts.includes(name) && isPacked(member) ? undefined : ownOf(member)
    if (own !== member) isSame = false
    if (own !== undefined) kept[name] = own
  }
  if (isSame) return value
  const isTurn = 'role' in value && !['content', 'parts', 'tool_calls'].some(name => name in kept)
  return isTurn || Object.keys(kept).length === 0 ? undefined : kept
}
