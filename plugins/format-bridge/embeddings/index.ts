import {
  type Body,
  defineSlot,
  type Family,
  type Model,
  type Passed,
  type RerouteAsk,
  type Rerouted,
  type Stage,
} from '../../../src/plugin-api/index.ts'
import type { HeldAnswer } from '../answer-stages.ts'
import { translating } from '../answer-stages.ts'
import { fail } from '../errors.ts'
import { tokensOfText } from '../estimate.ts'
import { judgeLosses } from '../judge-losses.ts'
import { AnswerFault, asObject, parseJson, RequestFault } from '../neutral/index.ts'
import type { EmbeddingFormat, EmbeddingRequest } from './format.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'

export type { EmbeddingFormat } from './format.ts'

const formats: readonly EmbeddingFormat[] = [openai, google]

export const embeddingNames: readonly string[] = formats.map(({ operation }) => operation)

/** A translated request for embeddings: what its answer needs. */
export type Embedding = {
  readonly client: EmbeddingFormat
  readonly upstream: EmbeddingFormat
  readonly request: EmbeddingRequest
  readonly dropped: readonly string[]
}

export const embeddingSlot = defineSlot<Embedding>('format-bridge.embedding')

export function embeddingFormat(operation: string): EmbeddingFormat | undefined {
  return formats.find(one => one.operation === operation)
}

/** The format in which the upstream of a family computes embeddings. */
export function upstreamEmbedding({ forward }: Pick<Family, 'forward'>): EmbeddingFormat | undefined {
  return formats.find(({ operation }) => forward.has(operation))
}

/** The request in the upstream's format; undefined if it is none for embeddings, or the model takes it as it is. @throws Failure */
export function translateEmbedding(
  ask: RerouteAsk,
): { readonly rerouted: Rerouted; readonly embedding: Embedding } | undefined {
  const { operation, model, body } = ask
  const client = embeddingFormat(operation)
  const upstream = upstreamEmbedding(model.family)
  if (!client || !upstream || !isTranslatedEmbedding(model, operation) || body.kind !== 'json') return undefined
  const request = parse(client, body)
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
  return { rerouted, embedding: { client, upstream, request, dropped } }
}

function isTranslatedEmbedding({ family: { forward }, accepts }: Model, operation: string): boolean {
  return !forward.has(operation) && accepts?.has(operation) === true
}

function parse(client: EmbeddingFormat, body: Body & { readonly kind: 'json' }): EmbeddingRequest {
  try {
    return client.parseRequest(asObject(parseJson(body.json.bytes.toString())) ?? {})
  } catch (error) {
    if (!(error instanceof RequestFault)) throw error
    const { field, message } = error
    throw fail('untranslatable_request', { field, expected: message }, { param: field })
  }
}

/** The vectors in the client's format. */
export class EmbeddingStage implements Stage {
  readonly #embedding: Embedding
  readonly #model: string
  readonly #held: HeldAnswer

  /** @param model as the client named it */
  constructor(embedding: Embedding, model: string, held: HeldAnswer) {
    this.#embedding = embedding
    this.#model = model
    this.#held = held
  }

  write(chunk: Buffer): Passed {
    this.#held.add(chunk)
    return []
  }

  end(): Passed {
    const { client, upstream, request } = this.#embedding
    return translating(() => {
      const body = parseJson(this.#held.take().toString())
      if (body === undefined) throw new AnswerFault('it is not JSON')
      const answer = upstream.parseAnswer(body)
      if (answer.vectors.length !== request.texts.length)
        throw new AnswerFault(`it has ${answer.vectors.length} embeddings for ${request.texts.length} texts`)
      const inputEstimate = Math.ceil(request.texts.reduce((sum, text) => sum + tokensOfText(text), 0))
      return Buffer.from(JSON.stringify(client.writeAnswer(answer, { request, model: this.#model, inputEstimate })))
    })
  }
}
