import {
  type Family,
  type Json,
  type Part,
  readField,
  type RerouteAsk,
  type Rerouted,
} from '../../../src/plugin-api/index.ts'
import { withClientDefaults } from '../client-defaults.ts'
import { isAccepted } from '../is-accepted.ts'
import { judgeLosses } from '../judge-losses.ts'
import { asText, type JsonObject } from '../neutral/index.ts'
import { reading } from '../read-request.ts'
import { elevenlabs } from './elevenlabs.ts'
import type { TranscriptClient, TranscriptUpstream } from './format.ts'
import { openai } from './openai.ts'

const clients: readonly TranscriptClient[] = [openai]
const upstreams: readonly TranscriptUpstream[] = [elevenlabs]

export const transcriptClientNames: readonly string[] = clients.map(({ operation }) => operation)
export const transcriptUpstreamNames: readonly string[] = upstreams.map(({ operation }) => operation)

/** A translated request for a transcript, with the data that its answer needs. */
export type Transcribed = {
  readonly kind: 'transcript'
  readonly upstream: TranscriptUpstream
  /** The media type of the client's answer, and the answer. */
  readonly type: string
  turn(this: void, body: Json): JsonObject | string
  readonly dropped: readonly string[]
}

export function transcriptFormat(operation: string): TranscriptClient | undefined {
  return clients.find(one => one.operation === operation)
}

/** The format in which the upstream of a family transcribes. */
export function upstreamTranscript({ forward }: Pick<Family, 'forward'>): TranscriptUpstream | undefined {
  return upstreams.find(({ operation }) => forward.has(operation))
}

/**
 * The form in the upstream's format; undefined if it has no recording, or the model accepts it unchanged.
 * @throws Failure
 */
export function translateTranscript(
  ask: RerouteAsk,
): { readonly rerouted: Rerouted; readonly bridge: Transcribed } | undefined {
  const { operation, model } = ask
  const client = transcriptFormat(operation)
  const upstream = upstreamTranscript(model.family)
  if (!client || !upstream || !isAccepted(model, operation)) return undefined
  const body = withClientDefaults(ask)
  if (body.kind !== 'form') return undefined
  const sent = body.parts.flatMap(part => (part.kind === 'text' ? [[part.name, part.value] as const] : []))
  const request = reading(() => client.parseRequest(sent))
  const written = upstream.writeRequest(request, model.name)
  const losses = [...request.losses, ...written.losses]
  const dropped = judgeLosses(losses, { model, says: client.says, format: upstream.operation })
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
