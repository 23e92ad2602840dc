import type { Family, RerouteAsk } from '../../src/plugin-api/index.ts'
import type { EmbeddingFormat } from './embeddings/format.ts'
import { google } from './embeddings/google.ts'
import { openai as openaiEmbeddings } from './embeddings/openai.ts'
import { elevenlabs as elevenlabsSpeech } from './speech/elevenlabs.ts'
import type { SpeechClient, SpeechUpstream } from './speech/format.ts'
import { openai as openaiSpeech } from './speech/openai.ts'
import { elevenlabs as elevenlabsTranscripts } from './transcripts/elevenlabs.ts'
import type { TranscriptClient, TranscriptUpstream } from './transcripts/format.ts'
import { openai as openaiTranscripts } from './transcripts/openai.ts'

type Format = { readonly operation: string }

/** The API formats of one kind of request, for clients and for upstreams. */
export type Kind<Client extends Format, Upstream extends Format> = {
  readonly clients: readonly Client[]
  readonly upstreams: readonly Upstream[]
}

const embeddings: Kind<EmbeddingFormat, EmbeddingFormat> = {
  clients: [openaiEmbeddings, google],
  upstreams: [openaiEmbeddings, google],
}
const speech: Kind<SpeechClient, SpeechUpstream> = { clients: [openaiSpeech], upstreams: [elevenlabsSpeech] }
const transcripts: Kind<TranscriptClient, TranscriptUpstream> = {
  clients: [openaiTranscripts],
  upstreams: [elevenlabsTranscripts],
}

/** The API formats of requests that are not conversations, in order of preference if an upstream has several. */
export const kinds = { embeddings, speech, transcripts }

export function clientOf<Client extends Format>(
  { clients }: Pick<Kind<Client, Format>, 'clients'>,
  operation: string,
): Client | undefined {
  return clients.find(one => one.operation === operation)
}

/** The format in which the upstream of a family is called. */
export function upstreamOf<Upstream extends Format>(
  { upstreams }: Pick<Kind<Format, Upstream>, 'upstreams'>,
  { forward }: Pick<Family, 'forward'>,
): Upstream | undefined {
  return upstreams.find(({ operation }) => forward.has(operation))
}

/** Both formats of a request; undefined for another kind, or if the model does not accept a translation. */
export function formatsOf<Client extends Format, Upstream extends Format>(
  kind: Kind<Client, Upstream>,
  { operation, model: { family, accepts } }: RerouteAsk,
): { readonly client: Client; readonly upstream: Upstream } | undefined {
  if (family.forward.has(operation) || accepts?.has(operation) !== true) return undefined
  const [client, upstream] = [clientOf(kind, operation), upstreamOf(kind, family)]
  return client && upstream && { client, upstream }
}
