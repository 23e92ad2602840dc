import type { Json } from '../../../src/plugin-api/index.ts'
import type { Answer, AnswerEvent, Problem } from './answer.ts'
import type { Conversation, Effort, JsonObject } from './conversation.ts'
import type { Feature, Loss } from './losses.ts'

/**
 * One API format: how its requests, answers and streams become the neutral ones, and the reverse. All functions are pure
 * and know of no other format. Parsers read what clients and upstreams really send: they never throw at an unknown
 * member. A value that means something and has no neutral member is a loss, named by its path.
 */
export type Adapter = {
  /** The operation of its requests: `messages`. Clients of this format are listed so in `accepts`. */
  readonly operation: string
  /** What a request in this format may have, each with its field: refusals and `check` name it. */
  readonly says: { readonly [feature in Feature]?: string }
  /** What `writeRequest` carries of it. */
  readonly carries: ReadonlySet<Feature>
  /** Its requests may refer to earlier responses, and answers may be stored. */
  readonly hasState?: true
  /** Its upstreams cache only what requests mark. */
  readonly writesCacheMarks?: true
  /** @throws RequestFault for a request that cannot be read */
  parseRequest(request: NativeRequest): Conversation
  writeRequest(conversation: Conversation, to: UpstreamFacts): WrittenRequest
  /** The query of a request; absent for none. */
  query?(stream: boolean): string
  /** A whole answer of status 2xx. @throws AnswerFault for one that is none */
  parseAnswer(body: Json, facts: ParseFacts): Answer
  writeAnswer(answer: Answer, facts: WriteFacts): JsonObject
  /** State for one stream. */
  createStreamParser(facts: ParseFacts): StreamParser
  createStreamWriter(facts: WriteFacts): StreamWriter
  /** The error of a refusal or of a record of a stream. */
  parseProblem(status: number, body: Json): Problem
}

/** A request as its client sent it. */
export type NativeRequest = {
  readonly body: JsonObject
  /** Whether a request is for a stream: by its path (generate) or its body (`stream: true`). */
  readonly stream: boolean
  /** What can read the seals that the client returns without the name of an issuer. */
  readonly issuer: string
}

export type WrittenRequest = { readonly body: JsonObject; readonly losses: readonly Loss[] }

/** What a writer of requests needs to know of the upstream and its model: data of the configuration. */
export type UpstreamFacts = {
  /** The model's name there. */
  readonly model: string
  /** Seals of this issuer may be sent; all others are left out. */
  readonly issuer: string
  /** The most tokens of an answer, for a format in which requests must limit it. */
  readonly maxTokens: number
  /** How requests make the model reason: by effort, by a budget of tokens, adaptively with an effort, or not at all. */
  readonly reasoning: 'effort' | 'budget' | 'adaptive' | 'none'
  /** The efforts that the model takes; the nearest lower one is written for any other. */
  readonly efforts: readonly Effort[]
  /** The model takes temperature, top_p and top_k. */
  readonly sampling: boolean
  /** The field that limits the answer's tokens, where the format has several. */
  readonly limitField: string
  /** It takes links to media. Without this a link is refused: the gateway fetches nothing. */
  readonly links: boolean
}

export type ParseFacts = {
  /** Names the model's seals. */
  readonly issuer: string
  /** A value that makes ids of calls unique where the format has none: it is different for each answer. */
  readonly id: string
}

export type WriteFacts = {
  /** Of the exchange: letters, digits and `_`. Writers make their ids from it: `msg_` + id. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  /** The model as the client named it. */
  readonly model: string
  /** The client's request. */
  readonly request: Conversation
  /** For a format that has state: what the gateway does for the request. */
  readonly state?: { readonly before: string | null; readonly isStored: boolean }
  /** An estimate of the input's tokens, for a format that reports them before the upstream does. */
  readonly inputEstimate: number
  /** `list`: elements of one JSON list instead of events (generate without `alt=sse`). */
  readonly form: 'events' | 'list'
}

/** One record of an event stream: the name of its `event:` line ('' for none), and its data. */
export type StreamRecord = { readonly event: string; readonly data: string }

export type StreamParser = {
  read(record: StreamRecord): readonly AnswerEvent[]
  /**
   * The upstream's stream is over. Returns `end` if it counts as complete, and an `error` if it was cut; nothing if one of
   * the two was returned before.
   */
  end(): readonly AnswerEvent[]
}

export type StreamWriter = {
  /** The bytes that the client gets for an event, as text; '' for none. After `error` the writer is not called again. */
  write(event: AnswerEvent): string
}

/** A request that cannot be read, with the field that is wrong. */
export class RequestFault extends Error {
  readonly field: string
  constructor(field: string, expected: string) {
    super(expected)
    this.name = 'RequestFault'
    this.field = field
  }
}

/** A response of an upstream that is not one of its format. */
export class AnswerFault extends Error {
  constructor(what: string) {
    super(what)
    this.name = 'AnswerFault'
  }
}
