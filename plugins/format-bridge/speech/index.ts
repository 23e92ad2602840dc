import type { RerouteAsk, Rerouted } from '../../../src/plugin-api/index.ts'
import { withClientDefaults } from '../client-defaults.ts'
import { checkLosses } from '../check-losses.ts'
import { formatsOf, kinds } from '../kinds.ts'
import { RequestFault } from '../neutral/index.ts'
import { readRequest } from '../read-request.ts'
import type { BridgeFacet } from '../schema.ts'
import type { SpeechUpstream } from './format.ts'

/** A translated request for speech, with the data that its answer needs. */
export type Speech = { readonly kind: 'sound'; readonly upstream: SpeechUpstream; readonly dropped: readonly string[] }

/**
 * The request in the upstream's format; undefined if it is not for speech, or the model accepts it unchanged. @throws
 * Failure
 */
export function translateSpeech(
  ask: RerouteAsk,
  { voices }: Pick<BridgeFacet, 'voices'>,
): { readonly rerouted: Rerouted; readonly bridge: Speech } | undefined {
  const { model, body } = ask
  const formats = formatsOf(kinds.speech, ask)
  if (!formats || body.kind !== 'json') return undefined
  const { client, upstream } = formats
  const { request, voice } = readRequest(withClientDefaults(ask), value => {
    const parsed = client.parseRequest(value)
    return { request: parsed, voice: idOf(parsed.voice, voices) }
  })
  const written = upstream.writeRequest(request, model.name, voice)
  const losses = [...request.losses, ...written.losses]
  const dropped = checkLosses(losses, { model, says: client.says, format: upstream.operation })
  const rerouted: Rerouted = {
    operation: upstream.operation,
    body: { kind: 'json', json: ask.parseObject(Buffer.from(JSON.stringify(written.body))) },
    stream: false,
    params: written.params,
    query: written.query,
    dropped,
  }
  return { rerouted, bridge: { kind: 'sound', upstream, dropped } }
}

/** An id is part of a path. */
const voiceId = /^[A-Za-z0-9_-]{1,128}$/

/** The upstream's id of a voice. @throws RequestFault for a name without an id that is not a valid id itself */
function idOf(name: string, voices: BridgeFacet['voices']): string {
  const trimmed = name.trim()
  const id = (Object.hasOwn(voices, trimmed) ? voices[trimmed] : undefined) ?? trimmed
  if (voiceId.test(id)) return id
  const names = Object.keys(voices).slice(0, 12).join(', ')
  throw new RequestFault('voice', names === '' ? 'the id of a voice' : `the id of a voice, or one of ${names}`)
}
