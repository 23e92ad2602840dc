import type { Json } from '../../../src/plugin-api/index.ts'
import type { Answer, AnswerEvent, Problem } from './answer.ts'
import type { Conversation, Effort, JsonObject } from './conversation.ts'
import type { Feature, Loss } from './losses.ts'

/**
 * One API format: converts its requests, answers and streams to the neutral form and back. All functions are pure and
 * independent of other formats. Parsers handle everything that clients and upstreams actually send, and never throw for
 * an unknown member. A meaningful value without a neutral member is a loss, with its path.
 */
export type Adapter = {
  /** The operation of its requests: `messages`. `accepts` lists it for clients of this format. */
  readonly operation: string
  /** The features of a request in this format, each with its field: refusals and `check` name the field. */
  readonly says: { readonly [feature in Feature]?: string }
  /** The features that `writeRequest` supports. */
  readonly carries: ReadonlySet<Feature>
  /** Whether its requests may refer to earlier responses, and answers may be stored. */
  readonly hasState?: true
  /** Whether its answers cannot carry images. */
  readonly answersNoImages?: true
  /** Whether its upstreams cache only the prefixes that requests mark. */
  readonly writesCacheMarks?: true
  /** @throws RequestFault for an invalid request */
  parseRequest(request: NativeRequest): Conversation
  writeRequest(conversation: Conversation, to: UpstreamFacts): WrittenRequest
  /** The query of a request; absent for none. */
  query?(stream: boolean): string
  /** A complete answer with status 2xx. @throws AnswerFault for an answer that is not in this format */
  parseAnswer(body: Json, facts: ParseFacts): Answer
  writeAnswer(answer: Answer, facts: WriteFacts): JsonObject
  /** Creates the state for one stream. */
  createStreamParser(facts: ParseFacts): StreamParser
  createStreamWriter(facts: WriteFacts): StreamWriter
  /** The error in a refusal, or in a record of a stream. */
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

/** Facts about the upstream and its model for a writer of requests, from the configuration. */
export type UpstreamFacts = {
  /** The upstream's name of the model. */
  readonly model: string
  /** Seals of this issuer may be sent; all others are left out. */
  readonly issuer: string
  /** The maximum tokens of an answer, for a format whose requests must set a limit. */
  readonly maxTokens: number
  /**
   * The setting that makes the model reason: an effort, a budget of tokens, an adaptive mode with an effort, or none.
   */
  readonly reasoning: 'effort' | 'budget' | 'adaptive' | 'none'
  /** The efforts that the model accepts; any other is replaced with the nearest lower one. */
  readonly efforts: readonly Effort[]
  /** Whether the model accepts temperature, top_p and top_k. */
  readonly sampling: boolean
  /** The field for the limit of the answer's tokens, if the format has several. */
  readonly limitField: string
  /** Whether the upstream accepts links to media. If not, the gateway refuses a link, because it fetches nothing. */
  readonly links: boolean
}

export type ParseFacts = {
  /** The issuer of the model's seals. */
  readonly issuer: string
  /** A value that differs for each answer, and makes ids of calls unique if the format has none. */
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
  /** For a format with state: how the gateway handles the request's state. */
  readonly state?: { readonly before: string | null; readonly isStored: boolean }
  /** An estimate of the input's tokens, for a format that reports them earlier than the upstream does. */
  readonly inputEstimate: number
  /** `list`: elements of one JSON list instead of events (generate without `alt=sse`). */
  readonly form: 'events' | 'list'
}

/** One record of an event stream: the name in its `event:` line ('' for none), and its data. */
export type StreamRecord = { readonly event: string; readonly data: string }

export type StreamParser = {
  read(record: StreamRecord): readonly AnswerEvent[]
  /**
   * Called at the end of the upstream's stream. Returns `end` if the stream counts as complete, and `error` if it is
   * incomplete; nothing if one of these was returned before.
   */
  end(): readonly AnswerEvent[]
}

export type StreamWriter = {
  /** The client's text for an event; '' for none. After `error` the writer is not called again. */
  write(event: AnswerEvent): string
}

/** An invalid request, with the invalid field. */
export class RequestFault extends Error {
  readonly field: string
  constructor(field: string, expected: string) {
    super(expected)
    this.name = 'RequestFault'
    this.field = field
  }
}

/** A response of an upstream that is not in the upstream's format. */
export class AnswerFault extends Error {
  constructor(what: string) {
    super(what)
    this.name = 'AnswerFault'
  }
}
