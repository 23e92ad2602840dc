import type { Family, Json, RerouteAsk, Rerouted } from '../../../src/plugin-api/index.ts'
import { tokensOfText } from '../estimate.ts'
import { isAccepted } from '../is-accepted.ts'
import { judgeLosses } from '../judge-losses.ts'
import { AnswerFault, type JsonObject } from '../neutral/index.ts'
import { readRequest } from '../read-request.ts'
import type { EmbeddingFormat, EmbeddingRequest } from './format.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'

const formats: readonly EmbeddingFormat[] = [openai, google]

export const embeddingNames: readonly string[] = formats.map(({ operation }) => operation)

/** A translated request for embeddings, with the data that its answer needs. */
export type Embedding = {
  readonly kind: 'vectors'
  readonly client: EmbeddingFormat
  readonly upstream: EmbeddingFormat
  readonly request: EmbeddingRequest
  readonly dropped: readonly string[]
}

export function embeddingFormat(operation: string): EmbeddingFormat | undefined {
  return formats.find(one => one.operation === operation)
}

/** The format in which the upstream of a family computes embeddings. */
export function upstreamEmbedding({ forward }: Pick<Family, 'forward'>): EmbeddingFormat | undefined {
  return formats.find(({ operation }) => forward.has(operation))
}

/**
 * The request in the upstream's format; undefined if it is not for embeddings, or the model accepts it unchanged.
 * @throws Failure
 */
export function translateEmbedding(
  ask: RerouteAsk,
): { readonly rerouted: Rerouted; readonly bridge: Embedding } | undefined {
  const { operation, model, body } = ask
  const client = embeddingFormat(operation)
  const upstream = upstreamEmbedding(model.family)
  if (!client || !upstream || !isAccepted(model, operation) || body.kind !== 'json') return undefined
  const request = readRequest(body, value => client.parseRequest(value))
  const dropped = judgeLosses(request.losses, { model, says: client.says, format: upstream.operation })
  const bytes = Buffer.from(JSON.stringify(upstream.writeRequest(request, model.name)))
  const path = upstream.path?.(request)
  const rerouted: Rerouted = {
    operation: upstream.operation,
    body: { kind: 'json', json: ask.parseObject(bytes) },
    stream: false,
    query: '',
    dropped,
    ...(path !== undefined && { path }),
  }
  return { rerouted, bridge: { kind: 'vectors', client, upstream, request, dropped } }
}

/** The vectors in the client's format. `model` is the client's name for it. @throws AnswerFault */
export function turnVectors({ client, upstream, request }: Embedding, body: Json, model: string): JsonObject {
  const answer = upstream.parseAnswer(body)
  if (answer.vectors.length !== request.texts.length)
    throw new AnswerFault(`it has ${answer.vectors.length} embeddings for ${request.texts.length} texts`)
  const inputEstimate = Math.ceil(request.texts.reduce((sum, text) => sum + tokensOfText(text), 0))
  return client.writeAnswer(answer, { request, model, inputEstimate })
}
