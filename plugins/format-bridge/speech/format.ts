import type { Json } from '../../../src/plugin-api/index.ts'
import type { Feature, JsonObject, Loss, Problem } from '../neutral/index.ts'

/** A text that a client wants to hear. */
export type SpeechRequest = {
  readonly text: string
  /** As the client calls it. */
  readonly voice: string
  /** Of the sound, as the client calls it; undefined for the usual one of its format. */
  readonly format: string | undefined
  /** 1 is the usual one. */
  readonly speed: number | undefined
  /** Fields that are not of the client's format: those that the upstream has are sent. */
  readonly rest: JsonObject
  readonly losses: readonly Loss[]
}

/** A request as an upstream gets it. */
export type WrittenSpeech = {
  readonly body: JsonObject
  readonly params: { readonly [name: string]: string }
  readonly query: string
  readonly losses: readonly Loss[]
}

/** An API format in which clients request speech. */
export type SpeechClient = {
  readonly operation: string
  /** What a request may have, each with its field. */
  readonly says: { readonly [feature in Feature]?: string }
  /** @throws RequestFault for a request that cannot be read */
  parseRequest(body: JsonObject): SpeechRequest
}

/** An API format in which upstreams speak. The sound of an answer is the client's as it is. */
export type SpeechUpstream = {
  readonly operation: string
  readonly carries: ReadonlySet<Feature>
  /** @param voice the upstream's id of it */
  writeRequest(request: SpeechRequest, model: string, voice: string): WrittenSpeech
  parseProblem(status: number, body: Json): Problem
}
