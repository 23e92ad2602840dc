import { type Json, type Part, readField, type RerouteAsk, type Rerouted } from '../../../src/plugin-api/index.ts'
import { withClientDefaults } from '../client-defaults.ts'
import { checkLosses } from '../check-losses.ts'
import { formatsOf, kinds } from '../kinds.ts'
import { asText, type JsonObject } from '../neutral/index.ts'
import { reading } from '../read-request.ts'
import type { TranscriptUpstream } from './format.ts'

/** A translated request for a transcript, with the data that its answer needs. */
export type Transcribed = {
  readonly kind: 'transcript'
  readonly upstream: TranscriptUpstream
  /** The media type of the client's answer. */
  readonly type: string
  turn(this: void, body: Json): JsonObject | string
  readonly dropped: readonly string[]
}

/**
 * The form in the upstream's format; undefined if it has no recording, or the model accepts it unchanged.
 * @throws Failure
 */
export function translateTranscript(
  ask: RerouteAsk,
): { readonly rerouted: Rerouted; readonly bridge: Transcribed } | undefined {
  const { model } = ask
  const formats = formatsOf(kinds.transcripts, ask)
  if (!formats) return undefined
  const { client, upstream } = formats
  const body = withClientDefaults(ask)
  if (body.kind !== 'form') return undefined
  const sent = body.parts.flatMap(part => (part.kind === 'text' ? [[part.name, part.value] as const] : []))
  const request = reading(() => client.parseRequest(sent))
  const written = upstream.writeRequest(request, model.name)
  const losses = [...request.losses, ...written.losses]
  const dropped = checkLosses(losses, { model, says: client.says, format: upstream.operation })
  const texts = written.fields.map(([name, value]): Part => ({ kind: 'text', name, value }))
  const files = body.parts.filter(part => part.kind === 'file')
  const rerouted: Rerouted = {
    operation: upstream.operation,
    body: { ...body, parts: [...texts, ...files] },
    stream: false,
    query: '',
    dropped,
  }
  const { format, type } = client.formOf(asText(readField(body, 'response_format')))
  const turn = (answer: Json): JsonObject | string => client.writeAnswer(upstream.parseAnswer(answer), format)
  return { rerouted, bridge: { kind: 'transcript', upstream, type, turn, dropped } }
}
