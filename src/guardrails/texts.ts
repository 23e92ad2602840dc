import type { Json } from '../domain/index.ts'

type Members = { [name: string]: Json }

/** A text inside a JSON value. `put` replaces it there. */
export type FoundText = { readonly text: string; put(text: string): void }

/** Members that contain texts of people and models, in any API format. Everything below them is text too. */
const textMembers: ReadonlySet<string> = new Set([
  'content',
  'documents',
  'input',
  'inputs',
  'instructions',
  'negative_prompt',
  'next_text',
  'output',
  'partial_json',
  'previous_text',
  'prompt',
  'query',
  'reasoning',
  'reasoning_content',
  'refusal',
  'suffix',
  'summary',
  'system',
  'text',
  'texts',
  'thinking',
  'transcript',
])

/** Members with the arguments, the program or the result of a tool: an object in them has the tool's own names. */
const toolMembers: ReadonlySet<string> = new Set([
  'args',
  'arguments',
  'executableCode',
  'executable_code',
  'input',
  'response',
])

/** Members whose values are for programs, except in the arguments of a tool. */
const otherMembers: ReadonlySet<string> = new Set([
  'b64_json',
  'call_id',
  'data',
  'detail',
  'encrypted_content',
  'encrypted_index',
  'fileUri',
  'file_data',
  'file_id',
  'file_url',
  'finish_reason',
  'format',
  'id',
  'image_url',
  'item_id',
  'media_type',
  'mimeType',
  'model',
  'name',
  'object',
  'role',
  'signature',
  'status',
  'stop_reason',
  'thoughtSignature',
  'tool_call_id',
  'tool_use_id',
  'type',
  'uri',
  'url',
])

/** Top-level fields of requests that contain texts at a greater depth. */
const containers: ReadonlySet<string> = new Set([
  'contents',
  'generateContentRequest',
  'items',
  'messages',
  'prediction',
  'requests',
  'systemInstruction',
  'system_instruction',
])

/**
 * `none`: names of the API format. `text`: below a text member. `tool`: below the arguments of a tool: all strings are
 * text. `variables`: members with names of the client, whose values have the names of the API format.
 */
type Inside = 'none' | 'text' | 'tool' | 'variables'

/** Whether a top-level field of a request may hold texts. */
export function mayHoldTexts(name: string): boolean {
  return textMembers.has(name) || containers.has(name)
}

/** The texts of a value, in its order. */
export function findTexts(value: Json | undefined, inside: 'none' | 'text' = 'none'): readonly FoundText[] {
  const found: FoundText[] = []
  walk(value, inside, found)
  return found
}

/**
 * Empties members that repeat an edited text in pieces, at any depth: probabilities of tokens, and the words and
 * segments of a transcript. A rule that matches several words does not match each piece alone, so the guard cannot
 * check pieces.
 */
export function leaveOutPieces(value: Json | undefined): void {
  if (typeof value !== 'object' || value === null) return
  const holder = value as Members
  for (const name of Object.keys(holder)) {
    // Arguments of a tool have the tool's own names.
    if (name === 'args' || name === 'input') continue
    if (!isInPieces(name, holder[name])) leaveOutPieces(holder[name])
    else if (holder[name] !== null) holder[name] = Array.isArray(holder[name]) ? [] : null
  }
}

function isInPieces(name: string, value: Json | undefined): boolean {
  if (name === 'words' || name === 'segments') return Array.isArray(value)
  return name === 'logprobs' || name === 'logprobsResult'
}

/** Has no depth limit: requests have at most 64 levels, and every text of an answer must be checked. */
function walk(value: Json | undefined, inside: Inside, found: FoundText[]): void {
  if (typeof value !== 'object' || value === null) return
  const isList = Array.isArray(value)
  const holder = value as Members
  for (const name of Object.keys(holder)) {
    const one = holder[name]
    const below = isList ? inside : belowMember(holder, name, inside)
    if (below === undefined) continue
    if (typeof one !== 'string') walk(one, below, found)
    else if (below !== 'none' && one !== '') found.push({ text: one, put: text => void (holder[name] = text) })
  }
}

/** Undefined for a member that is never text, whatever its value. */
function belowMember(holder: Members, name: string, inside: Inside): Inside | undefined {
  if (inside === 'tool') return inside
  if (inside === 'variables') return 'text'
  const { type, [name]: value } = holder
  // Of a document in plain text; of other types it is encoded.
  if (name === 'data' && type === 'text') return 'text'
  // An encoded picture.
  if (name === 'result' && type === 'image_generation_call') return undefined
  if (otherMembers.has(name)) return undefined
  const isObject = typeof value === 'object' && !Array.isArray(value)
  // Of an event: it has the names of the API format.
  if (name === 'response' && type !== undefined) return inside
  if (toolMembers.has(name) && (isObject || typeof value === 'string')) return 'tool'
  if (name === 'variables' && inside === 'text' && isObject) return 'variables'
  return textMembers.has(name) ? 'text' : inside
}
