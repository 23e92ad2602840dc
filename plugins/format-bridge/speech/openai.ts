import { asText, isAbsent, type JsonObject, type Loss, RequestFault, valueAt } from '../neutral/index.ts'
import type { SpeechClient, SpeechRequest } from './format.ts'

const known = new Set(['model', 'input', 'voice', 'instructions', 'response_format', 'speed', 'stream_format'])

/** `POST /v1/audio/speech`. */
export const openai: SpeechClient = {
  operation: 'audio.speech',
  says: { sound_format: 'response_format', sound_events: 'stream_format', speaking_style: 'instructions' },
  parseRequest,
}

function parseRequest(body: JsonObject): SpeechRequest {
  const text = asText(body['input'])
  if (text === undefined || text === '') throw new RequestFault('input', 'a text')
  const voice = asText(body['voice']) ?? asText(valueAt(body['voice'], 'id'))
  if (voice === undefined || voice === '') throw new RequestFault('voice', 'the name of a voice')
  const format = body['response_format']
  if (!isAbsent(format) && typeof format !== 'string') throw new RequestFault('response_format', 'the name of a format')
  const speed = body['speed']
  if (!isAbsent(speed) && !(typeof speed === 'number' && Number.isFinite(speed)))
    throw new RequestFault('speed', 'a number')
  const losses: Loss[] = []
  if (!isAbsent(body['instructions']) && body['instructions'] !== '') losses.push({ feature: 'speaking_style' })
  if (!isAbsent(body['stream_format']) && body['stream_format'] !== 'audio') losses.push({ feature: 'sound_events' })
  const rest = Object.entries(body).filter(([name, value]) => !known.has(name) && !isAbsent(value))
  return { text, voice, format: format ?? undefined, speed: speed ?? undefined, rest: Object.fromEntries(rest), losses }
}
