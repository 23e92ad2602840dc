import type { Json } from '../../../src/plugin-api/index.ts'
import type { Feature, JsonObject, Loss, Problem } from '../neutral/index.ts'

/** Texts for which a client requests one vector each. */
export type EmbeddingRequest = {
  readonly texts: readonly string[]
  /** The number of members of each vector; undefined for the model's default. */
  readonly dimensions: number | undefined
  /** Whether the client sent a list, possibly with a single text. */
  readonly isList: boolean
  /** Vectors are lists of numbers, or base64 of their 32-bit floats. */
  readonly encoding: 'float' | 'base64'
  readonly losses: readonly Loss[]
}

/** One vector for each text, in order. */
export type EmbeddingAnswer = {
  readonly vectors: readonly (readonly number[])[]
  /** Undefined if the upstream does not report it. */
  readonly inputTokens: number | undefined
}

export type EmbeddingFacts = {
  readonly request: EmbeddingRequest
  /** The client's name of the model. */
  readonly model: string
  readonly inputEstimate: number
}

/** One API format of embeddings, with pure functions that do not depend on other formats. */
export type EmbeddingFormat = {
  readonly operation: string
  /** The features of a request, each with its field. */
  readonly says: { readonly [feature in Feature]?: string }
  readonly carries: ReadonlySet<Feature>
  /** Whether its answers may omit tokens. */
  readonly mayLackUsage?: true
  /** @throws RequestFault for an invalid request */
  parseRequest(body: JsonObject): EmbeddingRequest
  writeRequest(request: EmbeddingRequest, model: string): JsonObject
  /** The end of the path for a request, if the operation has several; absent for one. */
  path?(request: EmbeddingRequest): string
  /** @throws AnswerFault for an answer of status 2xx that does not have this format */
  parseAnswer(body: Json): EmbeddingAnswer
  writeAnswer(answer: EmbeddingAnswer, facts: EmbeddingFacts): JsonObject
  parseProblem(status: number, body: Json): Problem
}
