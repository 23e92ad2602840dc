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

/** `shadow`: the rule would have refused the request, but only reports that. */
export type LimitDecision = { readonly limit: string; readonly decision: 'admitted' | 'refused' | 'shadow' }

/** Facts in the upstream's response, for traces. */
export type AnswerFacts = {
  /** The upstream's name of the model that answered; undefined if the response has none. */
  readonly model: string | undefined
  /** Finish reasons in the upstream's words, one for each choice. */
  readonly finishReasons: readonly string[]
  readonly counts: Counts
  readonly isStream: boolean
}

/** The fields and usage of the request for the log; hooks add to them. */
export type Notes = {
  forwarded: readonly string[]
  dropped: readonly string[]
  /** Whether the request has a charge; its id is the request's own id. */
  charge: boolean
  /** The code of a failure that the upstream reported in a response with status 200: the request counts as failed. */
  failed?: string
  /**
   * The shape of a response that was not recognized, and not delivered completely. `isEmpty`: it had only whitespace.
   */
  unrecognised?: { readonly shape: string; readonly isEmpty?: boolean }
  /** Whether a plugin refused the response before any of it was delivered, even if a stream had begun. */
  isWithheld?: true
  /** The guard and the rule that blocked the response. Its usage is charged anyway. */
  blocked?: { readonly guard: string; readonly rule: string }
  /**
   * The result of the answer cache; absent for models without one. `saved`: the amount saved by a hit, in micro-units.
   */
  cache?: { readonly result: CacheResult; readonly saved?: Micros }
  /** The limits' decisions for this request. */
  limits?: readonly LimitDecision[]
  /** Kinds of labels for which the request had more values than the gateway stores. */
  folded?: readonly LabelKind[]
  inputTokens: number | null
  outputTokens: number | null
  answer?: AnswerFacts
}

/** One request from its head to its settlement. */
export type RequestContext = {
  /** The gateway's request id, which is ordered by time and returned as `x-request-id`. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly head: Head
  readonly route: Route
  readonly params: { readonly [name: string]: string }
  readonly dialect: ApiFormat
  /** The client's own route, API format and body, if a plugin has converted the request to another operation. */
  readonly client?: {
    readonly route: Route
    readonly dialect: ApiFormat
    readonly head: Head
    /** Client details are read from this body, because the other format may have no field for them. */
    readonly body: Body
  }
  readonly plan: CompiledConfig
  readonly slots: Slots
  readonly notes: Notes
  /** The owner of the resources that the request uses: the id of the caller's key once it is known, '' before that. */
  payer: string
  /** The state of the caller's limits. The headers of every response report it in the API format. */
  limits: readonly LimitState[]
  /** Headers that every response of this exchange has. */
  readonly answerHeaders: { [name: string]: string }
  /**
   * The part of a WebSocket; absent for a request. `session` is the connection itself, which takes slots but has no
   * usage. `turn` is one response on it, which takes requests, tokens and money. `inputTokens`: tokens of the
   * conversation so far. `sentBytes`: bytes that the client has sent so far.
   */
  readonly part?:
    | { readonly kind: 'session' }
    | { readonly kind: 'turn'; readonly inputTokens: number; sentBytes(): number }
}

/** The target of a request, once its model is known. */
export type Target = {
  readonly model: Model
  readonly family: Family
  /** The upstream of the current attempt. Others may follow if nothing was sent, or after a definite refusal. */
  readonly upstream: Upstream
  /** The upstream's name for the model. */
  readonly sendAs: string
  /** The client's name for the model, if it is an alias of the caller's group. */
  readonly alias?: string
  /** All aliases of the caller's group, with their models; absent for none. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Other models in the body, which may answer or run in addition; excludes `model`. Absent for none. */
  readonly further?: readonly FurtherModel[]
  /** Models that may answer if no upstream of `model` does, each charged at its own prices; absent for none. */
  readonly fallbacks?: readonly Model[]
  /** The model that the client requested, if `model` is a fallback for it; absent otherwise. */
  readonly requested?: Model
  /** Models in fields of the body that are unknown to the family; absent for none. */
  readonly alsoNamed?: readonly DeclaredModel[]
  /** The client's request body, reduced by `onBody`. */
  readonly body: Body
  /** Whether the caller requested a stream. */
  readonly stream: boolean
  /** Whether a plugin charges the items of the response one by one, as images; that charge has the request's own id. */
  readonly chargesItems: boolean
}

/** A request for the upstream. */
export type Outbound = {
  readonly body: Body
  /** Additional headers, in lower case. */
  readonly headers: { readonly [name: string]: string }
  /**
   * Whether to read the rest of the response after the client has disconnected, because the rest costs money in any
   * case. A function is called at that time.
   */
  readonly detach: boolean | (() => boolean)
}
