import type { Json } from '../../../src/plugin-api/index.ts'
import type { Loss } from './losses.ts'

export type JsonObject = { readonly [name: string]: Json }

/**
 * A request in no vendor's format. Each adapter parses its format into this and writes its format from this, so that
 * four adapters serve all twelve directions. Everything that is absent was not requested.
 */
export type Conversation = {
  /** In order. Parts keep their order too, because some formats interleave text and calls. */
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  /** false: at most one call in an answer. */
  readonly parallelCalls?: boolean
  readonly output?: OutputShape
  readonly reasoning?: Reasoning
  /** Tokens of the answer at most, reasoning included. */
  readonly maxTokens?: number
  /** How many answers. The plugin refuses more than one. */
  readonly n?: number
  readonly sampling: Sampling
  readonly stop?: readonly string[]
  readonly logprobs?: { readonly top: number }
  readonly serviceTier?: ServiceTier
  /** How long answers should be; a hint. */
  readonly verbosity?: 'low' | 'medium' | 'high'
  /** A value that all requests of one prefix share, for the vendor's cache. */
  readonly cacheKey?: string
  /** The end user, as the client names it. */
  readonly user?: string
  /** The client wants a stream. */
  readonly stream: boolean
  /** The client wants the usage in its stream. Formats that always have it set it. */
  readonly streamUsage: boolean
  /** What the parser found in the request and has no member here. */
  readonly losses: readonly Loss[]
}

export type Turn = {
  /** `system`: instructions of the operator, at the beginning or later. Results of tools are in turns of the user. */
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly Part[]
  /** Name of the speaker, where a format has one. */
  readonly name?: string
}

export type Part = TextPart | MediaPart | ThoughtPart | CallPart | ResultPart | RefusalPart

/** After this part the vendor may cache the prompt, for so long. */
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
  /** `image/png`, `application/pdf`, `text/plain`; absent if the request has no type. */
  readonly mime?: string
  readonly source: MediaSource
  readonly name?: string
  /** How closely an image is looked at; a hint. */
  readonly detail?: 'low' | 'high' | 'auto'
  readonly cache?: CacheHint
  readonly seal?: Seal
}

/** `file`: an id at one vendor, which no other vendor knows. */
export type MediaSource =
  | { readonly kind: 'bytes'; readonly base64: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'link'; readonly url: string }
  | { readonly kind: 'file'; readonly id: string }

/** What a model thought. Only its issuer can read the seal. */
export type ThoughtPart = {
  readonly kind: 'thought'
  readonly text: string
  /** `hidden`: the seal alone. */
  readonly form: 'full' | 'summary' | 'hidden'
  readonly seal?: Seal
}

/**
 * A model's state that travels through clients: a signature or encrypted content. `issuer` says who can read it: see
 * `seals.ts`. A seal never goes to another issuer.
 */
export type Seal = { readonly issuer: string; readonly value: string }

export type CallPart = {
  readonly kind: 'call'
  /** Pairs the call with its result. Unique in a conversation. */
  readonly id: string
  readonly name: string
  /** JSON as text, exactly as the model wrote it; the text itself for a freeform tool. */
  readonly arguments: string
  readonly freeform?: true
  readonly seal?: Seal
  readonly cache?: CacheHint
}

export type ResultPart = {
  readonly kind: 'result'
  /** The call's. */
  readonly id: string
  /** The tool's name; absent where the format has none: `nameOfCall` finds it. */
  readonly name?: string
  readonly parts: readonly (TextPart | MediaPart)[]
  readonly failed?: true
  readonly freeform?: true
  readonly cache?: CacheHint
}

export type RefusalPart = { readonly kind: 'refusal'; readonly text: string }

/** A source of a text. Offsets count UTF-16 units of the part's text; absent if the whole part is meant. */
export type Citation = {
  readonly from?: number
  readonly to?: number
  readonly url?: string
  readonly title?: string
  /** The cited words. */
  readonly quote?: string
  /** Place in a document of the request. */
  readonly document?: { readonly index: number; readonly page?: number; readonly char?: number }
}

export type TokenLogprob = {
  readonly token: string
  readonly logprob: number
  readonly bytes?: readonly number[]
  readonly top: readonly { readonly token: string; readonly logprob: number; readonly bytes?: readonly number[] }[]
}

export type Tool = {
  /** Unique in a request; `joinedName` of both for a tool in a namespace. */
  readonly name: string
  /** Where the client's format groups tools: the group, and the name in it. */
  readonly space?: { readonly name: string; readonly own: string }
  readonly description?: string
  /** JSON Schema of the arguments; absent for none, and for freeform tools. */
  readonly schema?: JsonObject
  /** Arguments follow the schema exactly. Always set, because the formats' defaults differ. */
  readonly strict: boolean
  /** Its input is text and not JSON; `grammar` constrains it. */
  readonly freeform?: { readonly grammar?: JsonObject }
  readonly cache?: CacheHint
}

export type ToolChoice =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'required' }
  | { readonly kind: 'tool'; readonly name: string }
  /** One of these, or (`isRequired: false`) none. */
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
  /** As the client wrote it: one of the two. `effort.ts` converts them. `auto`: the model decides. */
  readonly effort?: Effort
  readonly budget?: number | 'auto'
  /** The client wants to see the thoughts; `auto`, `concise`, `detailed` where a format distinguishes them. */
  readonly show?: 'none' | 'auto' | 'concise' | 'detailed'
  /** The client wants the opaque state of the reasoning, to send it back. */
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

/** Prices differ by tier. `auto` and `standard` cost the same and are both written as the format's default. */
export type ServiceTier = 'auto' | 'standard' | 'flex' | 'priority'
