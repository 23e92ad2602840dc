import type { Json, RerouteAsk, Rerouted } from '../../../src/plugin-api/index.ts'
import { tokensOfText } from '../estimate.ts'
import { checkLosses } from '../check-losses.ts'
import { formatsOf, kinds } from '../kinds.ts'
import { AnswerFault, type JsonObject } from '../neutral/index.ts'
import { readRequest } from '../read-request.ts'
import type { EmbeddingFormat, EmbeddingRequest } from './format.ts'

/** A translated request for embeddings, with the data that its answer needs. */
export type Embedding = {
  readonly kind: 'vectors'
  readonly client: EmbeddingFormat
  readonly upstream: EmbeddingFormat
  readonly request: EmbeddingRequest
  readonly dropped: readonly string[]
}

/**
 * The request in the upstream's format; undefined if it is not for embeddings, or the model accepts it unchanged.
 * @throws Failure
 */
export function translateEmbedding(
  ask: RerouteAsk,
): { readonly rerouted: Rerouted; readonly bridge: Embedding } | undefined {
  const { model, body } = ask
  const formats = formatsOf(kinds.embeddings, ask)
  if (!formats || body.kind !== 'json') return undefined
  const { client, upstream } = formats
  const request = readRequest(body, value => client.parseRequest(value))
  const dropped = checkLosses(request.losses, { model, says: client.says, format: upstream.operation })
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
