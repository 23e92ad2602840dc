import type { Json } from '../../../src/plugin-api/index.ts'
import type { Feature, JsonObject, Loss, Problem } from '../neutral/index.ts'

/** A client's request for speech. */
export type SpeechRequest = {
  readonly text: string
  /** The client's name of the voice. */
  readonly voice: string
  /** The client's name of the audio format; undefined for the default. */
  readonly format: string | undefined
  /** 1 is the default speed. */
  readonly speed: number | undefined
  /** Fields outside the client's format; those that the upstream supports are sent. */
  readonly rest: JsonObject
  readonly losses: readonly Loss[]
}

/** A request in an upstream's form. */
export type WrittenSpeech = {
  readonly body: JsonObject
  readonly params: { readonly [name: string]: string }
  readonly query: string
  readonly losses: readonly Loss[]
}

/** An API format in which clients request speech. */
export type SpeechClient = {
  readonly operation: string
  /** The features of a request, each with its field. */
  readonly says: { readonly [feature in Feature]?: string }
  /** @throws RequestFault for an invalid request */
  parseRequest(body: JsonObject): SpeechRequest
}

/** An API format of upstreams that create speech. The audio of an answer is forwarded unchanged. */
export type SpeechUpstream = {
  readonly operation: string
  readonly carries: ReadonlySet<Feature>
  /** @param voice the upstream's id of the voice */
  writeRequest(request: SpeechRequest, model: string, voice: string): WrittenSpeech
  parseProblem(status: number, body: Json): Problem
}
