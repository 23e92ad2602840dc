import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asList,
  asObject,
  asText,
  compact,
  type JsonObject,
  type Loss,
  type Problem,
  valueAt,
} from '../neutral/index.ts'
import type { SpeechUpstream } from './format.ts'

/**
 * Clients' names of formats, with those of this API. PCM and WAV have the properties that clients expect: 24 kHz and 16
 * bits.
 */
const formats: ReadonlyMap<string, string> = new Map([
  ['mp3', 'mp3_44100_128'],
  ['opus', 'opus_48000_128'],
  ['pcm', 'pcm_24000'],
  ['wav', 'wav_24000'],
])
const usual = 'mp3_44100_128'
/** A name in this API: `mp3_22050_32`, `ulaw_8000`. */
const own = /^[a-z][a-z0-9]{1,7}_\d{4,5}(?:_\d{2,3})?$/

const known = new Set([
  'apply_language_text_normalization',
  'apply_text_normalization',
  'language_code',
  'next_request_ids',
  'next_text',
  'previous_request_ids',
  'previous_text',
  'pronunciation_dictionary_locators',
  'seed',
  'use_pvc_as_ivc',
  'voice_settings',
])

/** `POST /v1/text-to-speech/{voice}`. */
export const elevenlabs: SpeechUpstream = {
  operation: 'text-to-speech',
  carries: new Set(),
  writeRequest({ text, format = 'mp3', speed, rest }, model, voice) {
    const fields: { [name: string]: Json } = {}
    const losses: Loss[] = []
    for (const [field, value] of Object.entries(rest))
      if (known.has(field)) fields[field] = value
      else losses.push({ feature: 'unknown_field', field })
    const sound = formats.get(format) ?? (own.test(format) ? format : undefined)
    if (sound === undefined) losses.push({ feature: 'sound_format' })
    return {
      body: compact({ text, model_id: model, ...fields, voice_settings: settingsOf(rest, speed) }),
      params: { voice },
      query: `output_format=${sound ?? usual}`,
      losses,
    }
  },
  parseProblem,
}

/** SDKs send a speed of 1 by default, but the voice may have its own speed, so 1 is not sent. */
function settingsOf({ voice_settings: given }: JsonObject, speed: number | undefined): Json | undefined {
  if (speed === undefined || speed === 1) return given
  return { speed, ...asObject(given) }
}

/** `detail` is a text, an object, or the list of invalid fields. */
export function parseProblem(status: number, body: Json): Problem {
  const detail = valueAt(body, 'detail') ?? null
  const code = asText(valueAt(detail, 'status')) ?? asText(valueAt(detail, 'code'))
  const fields = asList(detail).map(one => {
    const place = asList(valueAt(one, 'loc')).filter(step => step !== 'body')
    return `${place.map(step => asText(step) ?? JSON.stringify(step)).join('.')}: ${asText(valueAt(one, 'msg')) ?? 'not valid'}`
  })
  const message = asText(detail) ?? asText(valueAt(detail, 'message')) ?? fields.join('; ')
  return { status, message, ...(code !== undefined && { code }) }
}
