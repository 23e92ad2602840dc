import type { Body } from '../domain/body.ts'
import type { CacheResult } from '../domain/answer-cache.ts'
import type { Micros } from '../util/units.ts'
import type { Counts } from '../domain/usage.ts'
import type { LabelKind } from '../domain/labels.ts'
import type { DeclaredModel } from '../domain/declared.ts'
import type { ApiFormat, LimitState } from './api-format.ts'
import type { Head } from './head.ts'
import type { Family, FurtherModel, Model, Upstream } from '../domain/model.ts'
import type { CompiledConfig, Route } from '../domain/compiled-config.ts'
import type { Slots } from '../domain/slots.ts'

/** `shadow`: it would have refused, and does not. */
export type LimitDecision = { readonly limit: string; readonly decision: 'admitted' | 'refused' | 'shadow' }

/** What the upstream's response reports about itself, for traces. */
export type AnswerFacts = {
  /** The upstream's name of the model that answered; undefined where the answer has none. */
  readonly model: string | undefined
  /** In the upstream's words, one for each choice. */
  readonly finishReasons: readonly string[]
  readonly counts: Counts
  readonly isStream: boolean
}

/** The request's fields and usage for the log; hooks add to it. */
export type Notes = {
  forwarded: readonly string[]
  dropped: readonly string[]
  /** Id of the charge, when the request has one; it is the request's own id. */
  charge: boolean
  /** Code of a failure that the upstream reported inside an answer of status 200: the request has failed all the same. */
  failed?: string
  /** The shape of an answer that was not recognised and not delivered whole. `isEmpty`: it had no byte but blanks. */
  unrecognised?: { readonly shape: string; readonly isEmpty?: boolean }
  /** The guard and the rule that blocked the answer. What was used is charged. */
  blocked?: { readonly guard: string; readonly rule: string }
  /** What was done with cached answers; absent for models without a cache. `saved`: what the hit has not cost, in micro-units. */
  cache?: { readonly result: CacheResult; readonly saved?: Micros }
  /** What limits said of the request, by their names. */
  limits?: readonly LimitDecision[]
  /** Kinds of labels that were more than are stored. */
  folded?: readonly LabelKind[]
  inputTokens: number | null
  outputTokens: number | null
  answer?: AnswerFacts
}

/** One request from its head to its settlement. */
export type RequestContext = {
  /** Ours, time-ordered, sent back as `x-request-id`. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly head: Head
  readonly route: Route
  readonly params: { readonly [name: string]: string }
  readonly dialect: ApiFormat
  /** The client's own route, API format and body, if a plugin has turned its request into one of another operation. */
  readonly client?: {
    readonly route: Route
    readonly dialect: ApiFormat
    readonly head: Head
    /** What describes the client is read here: the other format may have no place for it. */
    readonly body: Body
  }
  readonly plan: CompiledConfig
  readonly slots: Slots
  readonly notes: Notes
  /** Who answers for what the request takes up: the caller's key, once it is known; '' before. */
  payer: string
  /** The state of the caller's limits; reported by every answer, in the dialect's own headers. */
  limits: readonly LimitState[]
  /** Headers that every answer to this exchange carries. */
  readonly answerHeaders: { [name: string]: string }
  /**
   * Of a WebSocket: `session` is the connection itself, which takes places and uses nothing; `turn` is one answer on it,
   * which takes requests, tokens and money. `inputTokens`: what the conversation so far comes to; `sentBytes`: what the caller
   * has sent of it by now. Absent for a request.
   */
  readonly part?:
    | { readonly kind: 'session' }
    | { readonly kind: 'turn'; readonly inputTokens: number; sentBytes(): number }
}

/** Where a request goes, once its model is known. */
export type Target = {
  readonly model: Model
  readonly family: Family
  /** The upstream that is tried now; others may follow if nothing was sent, or after a definite refusal. */
  readonly upstream: Upstream
  /** The name that it knows the model by. */
  readonly sendAs: string
  /** The client's name for the model, if it is an alias of their group. */
  readonly alias?: string
  /** All of the aliases of the caller's group, with their models; absent for none. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Further models that its body names, which may answer it or run on the way, without itself; absent without any. */
  readonly further?: readonly FurtherModel[]
  /** Models that may answer if no upstream of `model` does, each charged at its own prices; absent for none. */
  readonly fallbacks?: readonly Model[]
  /** The model that the client requested, where `model` is a fallback of it; absent for itself. */
  readonly requested?: Model
  /** Models that its body names at places unknown to its family; absent without any. */
  readonly alsoNamed?: readonly DeclaredModel[]
  /** What the caller sent, reduced by `onBody`. */
  readonly body: Body
  /** The caller requested a stream. */
  readonly stream: boolean
  /** A plugin charges the items of the answer one by one, as images; its charge has the request's own id. */
  readonly chargesItems: boolean
}

/** A request on its way to the upstream. */
export type Outbound = {
  readonly body: Body
  /** More headers, lower-case. */
  readonly headers: { readonly [name: string]: string }
  /**
   * Go on reading the answer when the caller has left, because it costs money whether read or not. A function is called at
   * that moment.
   */
  readonly detach: boolean | (() => boolean)
}
