import type { CallPart, Citation, Part, Seal, TokenLogprob } from './conversation.ts'

/** An answer in no vendor's format: the result of a stream of `AnswerEvent`. */
export type Answer = {
  /** The vendor's id; absent if it has none. Writers derive ids in their own form from `WriteFacts.id`. */
  readonly id?: string
  /** The vendor's name of the model. */
  readonly model?: string
  readonly parts: readonly Part[]
  readonly stop: Stop
  readonly usage?: AnswerUsage
  readonly serviceTier?: string
}

/**
 * The reason for the end of an answer. `calls`: it waits for results. `length`: the token limit of the request;
 * `context`: that of the model. `sequence`: a stop sequence, which is in `text` if the format reports it. `refused`: by
 * the model, or by a filter of its vendor.
 */
export type Stop = {
  readonly why: 'end' | 'calls' | 'length' | 'context' | 'sequence' | 'refused'
  readonly sequence?: string
  /** The vendor's own reason, for logs and for refusals. */
  readonly raw?: string
}

/**
 * Numbers of tokens. `input` includes all cached ones, and `output` the reasoning, regardless of the vendor's counting.
 * These figures are only for the client. Charges are computed from the vendor's own report before its translation.
 */
export type AnswerUsage = {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite5m?: number
  readonly cacheWrite1h?: number
  readonly reasoning?: number
  readonly inputAudio?: number
  readonly inputImage?: number
  readonly outputAudio?: number
  readonly outputImage?: number
  /** The input that tools of the vendor have added. */
  readonly toolInput?: number
}

/** The start of a part, with the facts that are known then. Media are always complete. */
export type PartHead =
  | { readonly kind: 'text' }
  | { readonly kind: 'refusal' }
  | { readonly kind: 'thought'; readonly form: 'full' | 'summary' | 'hidden' }
  | Pick<CallPart, 'kind' | 'id' | 'name' | 'freeform' | 'seal'>
  | Extract<Part, { kind: 'media' }>

/**
 * One step of an answer. `at` numbers the parts from 0 in the order in which they open; a number is used once. Several
 * parts may be open at a time (parallel calls of chat completions). `createSequencer` arranges them one after another,
 * for formats that require that. The order of a complete stream:
 *
 *     usage?, start, (usage | open | text | seal | citations | logprobs | close)*, finish, usage?, end
 *
 * `usage` may be repeated; each replaces the previous one member by member. `end` is sent once, after the upstream's
 * terminal record. `error` replaces `end` and is the last event; nothing follows either.
 */
export type AnswerEvent =
  | { readonly kind: 'start'; readonly id?: string; readonly model?: string }
  | { readonly kind: 'open'; readonly at: number; readonly part: PartHead }
  /** More of a text, a refusal, a thought, or the arguments of a call. Never empty, and never half of a UTF-16 pair. */
  | { readonly kind: 'text'; readonly at: number; readonly text: string }
  | { readonly kind: 'seal'; readonly at: number; readonly seal: Seal }
  | { readonly kind: 'citations'; readonly at: number; readonly citations: readonly Citation[] }
  | { readonly kind: 'logprobs'; readonly at: number; readonly tokens: readonly TokenLogprob[] }
  | { readonly kind: 'close'; readonly at: number }
  | { readonly kind: 'usage'; readonly usage: Partial<AnswerUsage> }
  | { readonly kind: 'finish'; readonly stop: Stop; readonly serviceTier?: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly problem: Problem }

/** An error of an upstream, in no vendor's format. */
export type Problem = {
  readonly status: number
  /** The vendor's message. */
  readonly message: string
  /** The vendor's own code or type, for the log. */
  readonly code?: string
  readonly retryAfterMs?: number
}
