import type { Json } from '../../../src/plugin-api/index.ts'
import type { Answer, AnswerEvent, Problem } from './answer.ts'
import type { Conversation, Effort, JsonObject } from './conversation.ts'
import type { Feature, Loss } from './losses.ts'

/**
 * One API format: converts its requests, answers and streams to the neutral form, and the reverse. All functions are
 * pure and do not depend on other formats. Parsers handle everything that clients and upstreams really send: they never
 * throw at an unknown member. A meaningful value without a neutral member is a loss, with its path.
 */
export type Adapter = {
  /** The operation of its requests: `messages`. `accepts` lists it for clients of this format. */
  readonly operation: string
  /** The features of a request in this format, each with its field: refusals and `check` name the field. */
  readonly says: { readonly [feature in Feature]?: string }
  /** The features that `writeRequest` supports. */
  readonly carries: ReadonlySet<Feature>
  /** Its requests may refer to earlier responses, and answers may be stored. */
  readonly hasState?: true
  /** Its upstreams cache only the prefixes that requests mark. */
  readonly writesCacheMarks?: true
  /** @throws RequestFault for a request that cannot be read */
  parseRequest(request: NativeRequest): Conversation
  writeRequest(conversation: Conversation, to: UpstreamFacts): WrittenRequest
  /** The query of a request; absent for none. */
  query?(stream: boolean): string
  /** A whole answer of status 2xx. @throws AnswerFault for an answer that does not have this format */
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
  /** Whether the client requests a stream: by the path (generate) or the body (`stream: true`). */
  readonly stream: boolean
  /** The issuer of seals that the client returns without an issuer. */
  readonly issuer: string
}

export type WrittenRequest = { readonly body: JsonObject; readonly losses: readonly Loss[] }

/** Facts about the upstream and its model that a writer of requests needs: data of the configuration. */
export type UpstreamFacts = {
  /** The upstream's name of the model. */
  readonly model: string
  /** Seals of this issuer may be sent; all others are left out. */
  readonly issuer: string
  /** The maximum tokens of an answer, for a format in which requests must set a limit. */
  readonly maxTokens: number
  /** How requests make the model reason: by effort, by a budget of tokens, adaptively with an effort, or not at all. */
  readonly reasoning: 'effort' | 'budget' | 'adaptive' | 'none'
  /** The efforts that the model accepts; any other is replaced with the nearest lower one. */
  readonly efforts: readonly Effort[]
  /** The model accepts temperature, top_p and top_k. */
  readonly sampling: boolean
  /** The field that limits the answer's tokens, if the format has several. */
  readonly limitField: string
  /** The upstream accepts links to media. Without this the gateway refuses a link: it fetches nothing. */
  readonly links: boolean
}

export type ParseFacts = {
  /** The issuer of the model's seals. */
  readonly issuer: string
  /** A value that makes ids of calls unique if the format has none: it differs for each answer. */
  readonly id: string
}

export type WriteFacts = {
  /** The id of the exchange: letters, digits and `_`. Writers derive their ids from it: `msg_` + id. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  /** The client's name of the model. */
  readonly model: string
  /** The client's request. */
  readonly request: Conversation
  /** For a format with state: the gateway's own handling of the request's state. */
  readonly state?: { readonly before: string | null; readonly isStored: boolean }
  /** An estimate of the input's tokens, for a format that reports them earlier than the upstream does. */
  readonly inputEstimate: number
  /** `list`: elements of one JSON list instead of events (generate without `alt=sse`). */
  readonly form: 'events' | 'list'
}

/** One record of an event stream: the name of its `event:` line ('' for none), and its data. */
export type StreamRecord = { readonly event: string; readonly data: string }

export type StreamParser = {
  read(record: StreamRecord): readonly AnswerEvent[]
  /**
   * Called when the upstream's stream has ended. Returns `end` if it counts as complete, and an `error` if it was cut;
   * nothing if one of the two was returned before.
   */
  end(): readonly AnswerEvent[]
}

export type StreamWriter = {
  /** The text that the client gets for an event; '' for none. After `error` the writer is not called again. */
  write(event: AnswerEvent): string
}

/** A request that cannot be read, with the invalid field. */
export class RequestFault extends Error {
  readonly field: string
  constructor(field: string, expected: string) {
    super(expected)
    this.name = 'RequestFault'
    this.field = field
  }
}

/** A response of an upstream that does not have the upstream's format. */
export class AnswerFault extends Error {
  constructor(what: string) {
    super(what)
    this.name = 'AnswerFault'
  }
}
