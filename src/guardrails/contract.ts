import type { RequestContext, Target } from '../plugin-api/index.ts'
import type { Awaitable } from '../util/index.ts'

/** Whether a text is in the request or in the response. */
export type Side = 'request' | 'response'

/** The facts of a request that a guard receives with its texts. */
export type Guarded = { readonly context: RequestContext; readonly target: Target; readonly side: Side }

/** A guard's decision about whole texts. */
export type Verdict =
  | { readonly kind: 'pass' }
  /** Nothing is delivered. `rule` is the reason for the client, the log and the operator. */
  | { readonly kind: 'block'; readonly rule: string }
  /** The same texts in the same order, with other words. */
  | { readonly kind: 'edit'; readonly texts: readonly string[] }

/** Replaces the characters from `from` to `to` of a text with `put`. */
export type Edit = { readonly from: number; readonly to: number; readonly put: string }

/** A guard's decision about the unsent part of a text that is still arriving. */
export type PartVerdict =
  | { readonly kind: 'block'; readonly rule: string }
  /**
   * The first `upTo` characters may be sent, with these edits, which are in order. The guard gets the rest again, with
   * more text.
   */
  | { readonly kind: 'release'; readonly upTo: number; readonly edits: readonly Edit[] }

/**
 * Checks the texts of requests and answers in every API format. Texts are written by people and models: messages,
 * prompts, instructions, tool results and arguments. Names, roles, ids, links and encoded files are not texts.
 */
export type Guard<Section> = {
  /** The plugin's name: errors and the log name it. */
  readonly name: string
  /** Whether it checks this side of a model's requests. */
  reads(section: Section, side: Side): boolean
  /** Checks all texts of a request, or of an answer that is not a stream. */
  whole(texts: readonly string[], section: Section, about: Guarded): Awaitable<Verdict>
  /**
   * Checks the unsent part of one text of a stream: of one choice, one block or one tool call. `isEnd`: the text is
   * complete.
   */
  part(text: string, isEnd: boolean, section: Section, about: Guarded): Awaitable<PartVerdict>
}
