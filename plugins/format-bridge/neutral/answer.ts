import type { CallPart, Citation, Part, Seal, TokenLogprob } from './conversation.ts'

/** An answer in no vendor's format: the result of a stream of `AnswerEvent`. */
export type Answer = {
  /** The vendor's id; absent if it has none. Writers create ids in their own form from `WriteFacts.id`. */
  readonly id?: string
  /** The vendor's name of the model. */
  readonly model?: string
  readonly parts: readonly Part[]
  readonly stop: Stop
  readonly usage?: AnswerUsage
  readonly serviceTier?: string
}

/**
 * Why an answer ended. `calls`: it waits for results. `length`: the limit of tokens; `context`: that of the model.
 * `sequence`: a stop sequence, which is in `text` if the format reports it. `refused`: by the model or a filter of its
 * vendor.
 */
export type Stop = {
  readonly why: 'end' | 'calls' | 'length' | 'context' | 'sequence' | 'refused'
  readonly sequence?: string
  /** The vendor's own reason, for logs and for refusals. */
  readonly raw?: string
}

/**
 * Tokens. `input` includes all of the cached ones, `output` includes the reasoning, whatever the vendor's format
 * counts. These figures are only for the client. Charges are computed from the vendor's own report before it is
 * translated.
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
  /** Input that tools of the vendor added. */
  readonly toolInput?: number
}

/** The beginning of a part, with the facts that are known when it opens. Media are always complete. */
export type PartHead =
  | { readonly kind: 'text' }
  | { readonly kind: 'refusal' }
  | { readonly kind: 'thought'; readonly form: 'full' | 'summary' | 'hidden' }
  | Pick<CallPart, 'kind' | 'id' | 'name' | 'freeform' | 'seal'>
  | Extract<Part, { kind: 'media' }>

/**
 * One step of an answer. `at` numbers the parts from 0 in the order in which they open; a number is used once. Several
 * parts may be open at a time (parallel calls of chat completions): `createSequencer` puts them one after another for
 * formats that need that. The order of a whole stream:
 *
 *     usage?, start, (usage | open | text | seal | citations | logprobs | close)*, finish, usage?, end
 *
 * `usage` may come more than once; each replaces the one before, member by member. `end` comes once, when the
 * upstream's terminal record has arrived. `error` comes instead of `end` and is the last event; nothing follows either.
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
