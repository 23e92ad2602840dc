import type { Json } from '../../../src/plugin-api/index.ts'
import type { Loss } from './losses.ts'

export type JsonObject = { readonly [name: string]: Json }

/**
 * A request in no vendor's format. Each adapter parses its format to this and writes its format from this, so that four
 * adapters cover all twelve directions. An absent member was not requested.
 */
export type Conversation = {
  /** In order. The order of parts matters too, because some formats interleave text and calls. */
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  /** false: at most one call per answer. */
  readonly parallelCalls?: boolean
  readonly output?: OutputShape
  readonly reasoning?: Reasoning
  /** The maximum tokens of the answer, including reasoning. */
  readonly maxTokens?: number
  /** The number of answers. The plugin refuses more than one. */
  readonly n?: number
  readonly sampling: Sampling
  readonly stop?: readonly string[]
  readonly logprobs?: { readonly top: number }
  readonly serviceTier?: ServiceTier
  /** The requested length of answers; a hint. */
  readonly verbosity?: 'low' | 'medium' | 'high'
  /** A value that is equal for all requests with the same prefix, for the vendor's cache. */
  readonly cacheKey?: string
  /** The end user, by the client's name. */
  readonly user?: string
  /** Whether the client requests a stream. */
  readonly stream: boolean
  /** Whether the client requests the usage in its stream. Parsers of formats that always report it set this. */
  readonly streamUsage: boolean
  /** Features of the request without a member here. */
  readonly losses: readonly Loss[]
}

export type Turn = {
  /** `system`: instructions of the operator, at the beginning or later. Results of tools are in user turns. */
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly Part[]
  /** Name of the speaker, if the format has one. */
  readonly name?: string
}

export type Part = TextPart | MediaPart | ThoughtPart | CallPart | ResultPart | RefusalPart

/** The vendor may cache the prompt up to this part, for the given time. */
export type CacheHint = { readonly ttl: '5m' | '1h' }

export type TextPart = {
  readonly kind: 'text'
  readonly text: string
  readonly citations?: readonly Citation[]
  readonly logprobs?: readonly TokenLogprob[]
  readonly cache?: CacheHint
  readonly seal?: Seal
}

export type MediaPart = {
  readonly kind: 'media'
  readonly media: 'image' | 'audio' | 'video' | 'document'
  /** `image/png`, `application/pdf`, `text/plain`; absent if the request has none. */
  readonly mime?: string
  readonly source: MediaSource
  readonly name?: string
  /** The level of detail for an image; a hint. */
  readonly detail?: 'low' | 'high' | 'auto'
  readonly cache?: CacheHint
  readonly seal?: Seal
}

/** `file`: an id that is valid only at one vendor. */
export type MediaSource =
  | { readonly kind: 'bytes'; readonly base64: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'link'; readonly url: string }
  | { readonly kind: 'file'; readonly id: string }

/** The thoughts of a model. Only the issuer can read the seal. */
export type ThoughtPart = {
  readonly kind: 'thought'
  readonly text: string
  /** `hidden`: only a seal. */
  readonly form: 'full' | 'summary' | 'hidden'
  readonly seal?: Seal
}

/**
 * A model's state that clients return: a signature or encrypted content. `issuer` identifies the readers of the seal:
 * see `seals.ts`. A seal is never sent to another issuer.
 */
export type Seal = { readonly issuer: string; readonly value: string }

export type CallPart = {
  readonly kind: 'call'
  /** Connects the call to its result. Unique in a conversation. */
  readonly id: string
  readonly name: string
  /** JSON text, exactly as the model wrote it; plain text for a freeform tool. */
  readonly arguments: string
  readonly freeform?: true
  readonly seal?: Seal
  readonly cache?: CacheHint
}

export type ResultPart = {
  readonly kind: 'result'
  /** The id of the call. */
  readonly id: string
  /** The tool's name; absent if the format has none, in which case `namesOfCalls` finds it. */
  readonly name?: string
  readonly parts: readonly (TextPart | MediaPart)[]
  readonly failed?: true
  readonly freeform?: true
  readonly cache?: CacheHint
}

export type RefusalPart = { readonly kind: 'refusal'; readonly text: string }

/** A source of a text. Offsets count UTF-16 units of the part's text; absent for the whole part. */
export type Citation = {
  readonly from?: number
  readonly to?: number
  readonly url?: string
  readonly title?: string
  /** The cited text. */
  readonly quote?: string
  /** Position in a document of the request. */
  readonly document?: { readonly index: number; readonly page?: number; readonly char?: number }
}

export type TokenLogprob = {
  readonly token: string
  readonly logprob: number
  readonly bytes?: readonly number[]
  readonly top: readonly { readonly token: string; readonly logprob: number; readonly bytes?: readonly number[] }[]
}

export type Tool = {
  /** Unique in a request; for a tool in a namespace the `joinedName` of both. */
  readonly name: string
  /** If the client's format groups tools: the group, and the name within it. */
  readonly space?: { readonly name: string; readonly own: string }
  readonly description?: string
  /** JSON Schema of the arguments; absent for none, and for freeform tools. */
  readonly schema?: JsonObject
  /** Arguments follow the schema exactly. Always set, because the defaults of formats differ. */
  readonly strict: boolean
  /** Its input is text instead of JSON; `grammar` constrains it. */
  readonly freeform?: { readonly grammar?: JsonObject }
  readonly cache?: CacheHint
}

export type ToolChoice =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'required' }
  | { readonly kind: 'tool'; readonly name: string }
  /** One of these tools or, with `isRequired: false`, none. */
  | { readonly kind: 'allowed'; readonly names: readonly string[]; readonly isRequired: boolean }

/** The form of the answer's text. */
export type OutputShape =
  | { readonly kind: 'text' }
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly schema: JsonObject
      readonly name?: string
      readonly description?: string
      readonly strict: boolean
    }

export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export type Reasoning = {
  /** One of these two, as the client has set it. `effort.ts` converts them. `auto`: the model decides. */
  readonly effort?: Effort
  readonly budget?: number | 'auto'
  /** Whether the client wants to see the thoughts; `auto`, `concise`, `detailed` if a format distinguishes these. */
  readonly show?: 'none' | 'auto' | 'concise' | 'detailed'
  /** Whether the client wants the opaque state of the reasoning, to return it. */
  readonly wantsSeal?: boolean
}

export type Sampling = {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly logitBias?: { readonly [token: string]: number }
}

/** Prices depend on the tier. `auto` and `standard` cost the same, and both are written as the format's default. */
export type ServiceTier = 'auto' | 'standard' | 'flex' | 'priority'
