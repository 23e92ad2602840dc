import type { Json } from '../domain/index.ts'
import type { SessionFormat, SessionSign } from '../plugin-api/index.ts'
import { readMember } from './read-members.ts'

/** The beta has other names for transcription. */
const settingsNames = /^(?:transcription_)?session\.(?:created|updated)$/
const transcription = 'conversation.item.input_audio_transcription'

/** Realtime sessions. Messages have their names of 2025; the beta starts and ends turns with the same names. */
export const openaiSession: SessionFormat = {
  upstreamWords: [
    '"response.created"',
    '"response.done"',
    `"${transcription}.completed"`,
    `"${transcription}.failed"`,
    '"session.created"',
    '"session.updated"',
    '"transcription_session.created"',
    '"transcription_session.updated"',
    '"error"',
  ],
  query: { variant: 'intent', call: 'call_id' },
  callerWords: ['"response.create"'],
  secretProtocol: /^openai-(?:insecure-api-key|organization|project)\./,
  cancel: id => JSON.stringify({ type: 'response.cancel', ...(id !== '' && { response_id: id }) }),

  createReader: () => ({
    read(message: Json) {
      const sign = signOf(message)
      return sign ? [sign] : []
    },
  }),

  error({ code, message, param, type }, requestId) {
    return JSON.stringify({ type: 'error', event_id: requestId, error: { type, code, message, param, event_id: null } })
  },
}

function signOf(message: Json): SessionSign | undefined {
  const type = readMember(message, 'type')
  if (type === 'response.created') return { kind: 'began', id: responseId(message) }
  if (type === 'response.done') {
    const failed = readMember(readMember(message, 'response'), 'status') === 'failed'
    return { kind: 'ended', id: responseId(message), failed }
  }
  if (type === `${transcription}.completed`)
    return { kind: 'second_ended', id: contentId(message, type), failed: false }
  if (type === `${transcription}.failed`) return { kind: 'second_ended', id: contentId(message, type), failed: true }
  if (typeof type === 'string' && settingsNames.test(type)) return settingsOf(readMember(message, 'session'))
  return type === 'error' ? { kind: 'refused' } : undefined
}

function responseId(message: Json): string {
  const id = readMember(readMember(message, 'response'), 'id')
  return typeof id === 'string' ? id.slice(0, 128) : ''
}

/** The id of a transcribed part of an item. The type belongs to it, because a failed one may be tried again. */
function contentId(message: Json, type: string): string {
  const item = readMember(message, 'item_id')
  const index = readMember(message, 'content_index')
  return typeof item === 'string' ? JSON.stringify([type, item.slice(0, 128), index]) : ''
}

function settingsOf(session: Json | undefined): SessionSign {
  const longest = readMember(session, 'max_output_tokens') ?? readMember(session, 'max_response_output_tokens')
  return {
    kind: 'settings',
    secondModel: transcriptionModel(session),
    outputMax: typeof longest === 'number' ? longest : undefined,
  }
}

/** Transcription model; null if transcription is off; undefined if the session does not mention it. */
function transcriptionModel(session: Json | undefined): string | null | undefined {
  const input = readMember(readMember(session, 'audio'), 'input')
  const named = readMember(input, 'transcription')
  const own = named === undefined ? readMember(session, 'input_audio_transcription') : named
  if (own === undefined) return undefined
  const model = readMember(own, 'model')
  return typeof model === 'string' ? model.slice(0, 128) : null
}
