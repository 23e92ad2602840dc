import type { Tracked } from './tracked.ts'
import { writeForeign, writeMap } from './yaml-words.ts'

/** Default values of a model for fields that clients do not send: by operation, each value as YAML. */
export type DraftDefaults = ReadonlyMap<string, ReadonlyMap<string, string>>

/** A parameter of LiteLLM, and its name in an operation's own API. */
type Names = { readonly [parameter: string]: string }

const same = (...names: readonly string[]): Names => Object.fromEntries(names.map(name => [name, name]))

/** By family and operation: the parameters that are fields of its requests. */
const fields: { readonly [family: string]: { readonly [operation: string]: Names } } = {
  chat: {
    chat: same(
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
      'top_k',
      'min_p',
      'stop',
      'seed',
      'frequency_penalty',
      'presence_penalty',
      'repetition_penalty',
      'reasoning_effort',
      'verbosity',
      'thinking',
      'response_format',
      'parallel_tool_calls',
      'modalities',
    ),
    responses: { ...same('temperature', 'top_p'), max_tokens: 'max_output_tokens' },
  },
  messages: {
    messages: { ...same('max_tokens', 'temperature', 'top_p', 'top_k', 'thinking'), stop: 'stop_sequences' },
  },
  embedding: { embeddings: same('dimensions', 'encoding_format') },
  speech: { 'audio.speech': same('voice', 'speed', 'instructions', 'response_format') },
  'text-to-speech': {
    'audio.speech': { ...same('voice', 'speed', 'instructions', 'response_format'), voice_id: 'voice' },
    'text-to-speech': same('language_code', 'seed', 'voice_settings'),
  },
  'speech-to-text': {
    'audio.transcribe': same('language', 'temperature', 'response_format'),
    'speech-to-text': same('diarize', 'num_speakers', 'tag_audio_events'),
  },
  transcription: { 'audio.transcribe': same('language', 'prompt', 'temperature', 'response_format') },
  image: { 'image.generate': same('size', 'quality', 'style', 'background', 'output_format') },
}

/** Operations that accept the members of `extra_body`, which are sent unchanged. */
const bodies: { readonly [family: string]: string } = { chat: 'chat', embedding: 'embeddings', messages: 'messages' }

/**
 * The parameters of a line that are defaults for requests. A parameter that is not a field of the family stays unread.
 */
export function readDefaults(params: Tracked, family: string): DraftDefaults {
  const found = new Map<string, Map<string, string>>()
  const put = (operation: string, field: string, written: string): void => {
    const own = found.get(operation) ?? new Map<string, string>()
    found.set(operation, own.set(field, written))
  }
  const operations = Object.entries(fields[family] ?? fields[family.replace(/-.*/, '')] ?? {})
  for (const parameter of params.keys())
    for (const [operation, names] of operations) {
      const field = Object.hasOwn(names, parameter) ? names[parameter] : undefined
      const written = field === undefined ? undefined : params.takeAs(parameter, writeJson)
      if (field !== undefined && written !== undefined) put(operation, field, written)
    }
  const effort = found.get('chat')?.get('reasoning_effort')
  if (effort !== undefined) put('responses', 'reasoning', writeMap([['effort', effort]]))
  const whole = bodies[family]
  if (whole !== undefined && params.takeAs('extra_body', writeJson) !== undefined)
    for (const [field, value] of Object.entries(params.peek('extra_body'))) put(whole, field, writeJson(value) ?? '')
  return found
}

/** The setting of a model; undefined if it has no defaults. */
export function writeDefaults(defaults: DraftDefaults): string | undefined {
  if (defaults.size === 0) return undefined
  return writeMap([...defaults].map(([operation, own]) => [operation, writeMap([...own])]))
}

/** A JSON value on one line of YAML; undefined if it contains null, which no field of a configuration may have. */
function writeJson(value: unknown): string | undefined {
  if (typeof value === 'string') return writeForeign(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) {
    const items = value.map(writeJson)
    return items.includes(undefined) ? undefined : `[${items.join(', ')}]`
  }
  if (typeof value !== 'object' || value === null) return undefined
  const members = Object.entries(value).map(([name, inner]) => [name, writeJson(inner)] as const)
  return members.some(([, written]) => written === undefined) ? undefined : writeMap(members)
}
