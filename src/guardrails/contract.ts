import type { RequestContext, Target } from '../plugin-api/index.ts'
import type { Awaitable } from '../util/index.ts'

/** Whose text it is. */
export type Side = 'request' | 'response'

/** What a guard knows of a request next to its text. */
export type Guarded = { readonly context: RequestContext; readonly target: Target; readonly side: Side }

/** What a guard decides about whole texts. */
export type Verdict =
  | { readonly kind: 'pass' }
  /** Nothing of it passes. `rule` names the reason for the client, the log and the operator. */
  | { readonly kind: 'block'; readonly rule: string }
  /** The same texts in the same order, with other words. */
  | { readonly kind: 'edit'; readonly texts: readonly string[] }

/** Characters `from` to `to` of a text become `put`. */
export type Edit = { readonly from: number; readonly to: number; readonly put: string }

/** What a guard decides about the unsent part of a text that is still arriving. */
export type PartVerdict =
  | { readonly kind: 'block'; readonly rule: string }
  /** The first `upTo` characters may be sent, with these edits inside them, in order. The rest is shown again, with more. */
  | { readonly kind: 'release'; readonly upTo: number; readonly edits: readonly Edit[] }

/**
 * Checks the texts of requests and answers. Text is what people and models write: messages, prompts, instructions, tool
 * results and arguments. Names, roles, ids, links and encoded files are not text. The API format makes no difference.
 */
export type Guard<Section> = {
  /** The plugin's name: errors and the log name it. */
  readonly name: string
  /** Whether it reads this side of a model's requests. */
  reads(section: Section, side: Side): boolean
  /** All texts of a request, or of an answer that is not a stream. */
  whole(texts: readonly string[], section: Section, about: Guarded): Awaitable<Verdict>
  /** The unsent part of one text of a stream: of one choice, one block or one tool call. `isEnd`: no more of it arrives. */
  part(text: string, isEnd: boolean, section: Section, about: Guarded): Awaitable<PartVerdict>
}
