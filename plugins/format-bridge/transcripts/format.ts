import type { Json } from '../../../src/plugin-api/index.ts'
import type { Feature, JsonObject, Loss, Problem } from '../neutral/index.ts'

/** A text field of a form. */
type FormField = readonly [name: string, value: string]

/** A client's request for a transcript. The recording itself is the same part of the form in every format. */
export type TranscriptRequest = {
  readonly language: string | undefined
  readonly temperature: string | undefined
  /** Fields outside the client's format, in order; those that the upstream supports are sent. */
  readonly rest: readonly FormField[]
  readonly losses: readonly Loss[]
}

export type Transcript = {
  readonly text: string
  readonly language: string | undefined
  /** Undefined if the upstream does not report it. */
  readonly seconds: number | undefined
  readonly words: readonly { readonly word: string; readonly start: number; readonly end: number }[]
}

/** A request in an upstream's form, without the recording. */
type WrittenTranscript = { readonly fields: readonly FormField[]; readonly losses: readonly Loss[] }

/** An API format in which clients request transcripts. */
export type TranscriptClient = {
  readonly operation: string
  /** The features of a request, each with its field. */
  readonly says: { readonly [feature in Feature]?: string }
  /** @throws RequestFault for an invalid request */
  parseRequest(fields: readonly FormField[]): TranscriptRequest
  /** The requested form of the answer, for `writeAnswer`, and its media type. */
  formOf(format: string | undefined): { readonly format: string; readonly type: string }
  writeAnswer(answer: Transcript, format: string): JsonObject | string
}

/** An API format of upstreams that transcribe. */
export type TranscriptUpstream = {
  readonly operation: string
  readonly carries: ReadonlySet<Feature>
  /** The fields of the form, and the client's fields without an equivalent. */
  writeRequest(request: TranscriptRequest, model: string): WrittenTranscript
  /** @throws AnswerFault for an answer of status 2xx that does not have this format */
  parseAnswer(body: Json): Transcript
  parseProblem(status: number, body: Json): Problem
}
