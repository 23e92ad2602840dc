import type { CachePolicy } from './answer-cache.ts'
import type { Body } from './body.ts'
import type { PlainPeriod } from './budget-period.ts'
import type { Budget } from './budget.ts'
import type { HeaderRule } from './header-rules.ts'
import type { Json } from './json.ts'
import type { RetryPolicy } from './retry.ts'
import type { OutcomeRow } from './sale-outcomes.ts'
import type { ProxyAddress } from '../util/proxy/proxy-address.ts'
import type { Micros } from '../util/units.ts'
import type { PriceConditions, UnpricedPolicy } from './usage.ts'

/** A place in a configuration file; lines and columns count from 1. */
export type Origin = { readonly file: string; readonly line: number; readonly col: number }

/** The kind of a limit: requests or tokens in any 60 seconds, or requests in flight. */
export type LimitKind = 'rpm' | 'tpm' | 'concurrency'

export type Limits = {
  /** Requests in any 60 seconds. */
  readonly rpm?: number
  /** Tokens in any 60 seconds. */
  readonly tpm?: number
  /** Requests in flight at once, of each key. */
  readonly concurrency?: number
  /** Limits that only count and never refuse. */
  readonly shadow?: readonly LimitKind[]
  /** The requests that a model limit counts: all of them together, or those of each key. */
  readonly scope?: 'gateway' | 'key'
}

export type Group = {
  readonly name: string
  readonly limits: Limits
  /** The requests that the group's limits count together. */
  readonly limitScope: 'key' | 'user'
  /** The maximum number of keys that each of its users may create; absent for unlimited. */
  readonly keysMax?: number
  /** The maximum number of open jobs of each key whose clients do not wait; absent for 100. */
  readonly jobs?: number
  /**
   * The maximum of stored objects at upstreams for each key: the number of files, conversations …, and their bytes;
   * absent for unlimited.
   */
  readonly storedObjects?: { readonly max?: number; readonly bytesMax?: number }
  /**
   * The models that its keys may use, whatever the key itself allows; a final `*` matches any ending. Absent for all.
   */
  readonly models?: readonly string[]
  /** Model aliases for its keys, each with the model that serves it; absent for none. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Factor on token prices, as a decimal string; prices per picture ignore it. */
  readonly multiplier: string
  /** Limits for all keys of one user together, for each user of the group. */
  readonly limitsPerUser?: Limits
  /** Limits for each end user of each user of the group. */
  readonly limitsPerEndUser?: Limits
  /** Limits for all keys of the group together. */
  readonly limitsInAll?: Limits
  /** The budget of the whole group; absent for unlimited. */
  readonly budget?: Budget
  /** The budget of each user without a budget of their own. */
  readonly userBudget?: Budget
  /** The budget of each end user of each of its users. */
  readonly endUserBudget?: Budget
  /** The same for individual end users, by their names as the attribution stores them. */
  readonly endUserBudgets?: ReadonlyMap<string, Budget>
}

export type Timeouts = {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
  /** The time for the rest of a response after its client has left. */
  readonly afterLeaveMs: number
}

/** The request of an operation at the upstream, if it differs from the route. */
export type Call = {
  /** May contain `{model}`, `{model:segment}` and the names of the route. */
  readonly path: string
  /** Absent for the route's method. */
  readonly method?: string
  /** Replaces the client's query. */
  readonly query: { readonly [name: string]: string }
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  /** Differences for a stream. */
  readonly stream: { readonly path?: string; readonly query?: { readonly [name: string]: string } }
}

/** Credentials for an upstream. */
export type Credential =
  | { readonly kind: 'header'; readonly header: string; readonly value: string }
  | { readonly kind: 'query'; readonly name: string; readonly value: string }
  /** Computed for each request by a signing plugin. Options are validated by the plugin's schema. */
  | {
      readonly kind: 'sign'
      readonly signer: string
      readonly options: unknown
      /** Secret options, which must not be shown. */
      readonly secrets: readonly string[]
      readonly origin: Origin
    }

export type Upstream = {
  readonly name: string
  /** As written: `https://…` or `simulator:NAME`. */
  readonly url: string
  /** Every request has all of them. They are sent only to the origin of `url`. */
  readonly credential: readonly Credential[]
  /** More fixed headers for every request. */
  readonly headers: { readonly [name: string]: string }
  /** By operation; takes precedence over the family. */
  readonly calls?: ReadonlyMap<string, Call>

  /** Fixed parameters of the query of every request. */
  readonly query: { readonly [name: string]: string }
  readonly timeouts: Timeouts
  /** The region where it runs: prices may depend on it, and few responses report it. */
  readonly region?: string
  /** The vendor's name in traces (`gen_ai.provider.name`); absent for the upstream's name. */
  readonly provider?: string
  /** The proxy for its connections; absent for the proxy of the environment. */
  readonly proxy?: ProxyAddress | 'none'
  /** Certificate authorities in PEM form; absent for those that the system trusts. */
  readonly ca?: string
  /** A longer response is aborted; counts both received and decompressed bytes. */
  readonly answerBytesMax: number
  /** Whether connections are reused; undefined leaves it to the route. */
  readonly reuse: boolean | undefined
  /**
   * Circuit breaker: after this number of failures in a row, the upstream is paused for this time; then one request
   * tries it.
   */
  readonly cooldown: { readonly failures: number; readonly forMs: number }
  /** The maximum number of connections of one process; absent for 256. */
  readonly connections?: number
  /**
   * If all connections are in use: the maximum number of waiting requests (absent: 1024) and the maximum wait (30 s);
   * others are refused.
   */
  readonly queue?: { readonly max?: number; readonly forMs?: number }
  /** The maximum number of concurrent requests; absent for unlimited. */
  readonly concurrency?: number
  /** The limit only counts and never refuses. */
  readonly shadow?: readonly LimitKind[]
  /** Its keys, used one at a time; if none are listed, `credential` is the only key. Absent for no key. */
  readonly keys?: readonly VendorKey[]
  /** The key of this copy of the upstream; absent for the upstream itself. */
  readonly key?: string
  /** Sale outcomes of its responses, checked before the built-in table. */
  readonly outcomes?: readonly OutcomeRow[]
  /** Requests that may have been sold are sent again elsewhere. */
  readonly paysTwice?: boolean
  /** A free request that tests its keys. */
  readonly probePath?: string
}

/** A key for an upstream. */
export type VendorKey = {
  readonly name: string
  /** `UPSTREAM/NAME`: its name in counters and stores. */
  readonly id: string
  /** The upstream with this key. */
  readonly upstream: Upstream
  /** A hash of its secret: a key with a changed secret is another key. */
  readonly hash: string
  /** The visible part of its secret: the last characters. */
  readonly hint: string
  /** Its share among the usable keys; 0 gets no new requests. */
  readonly weight: number
  /** The models that it serves; `*` matches any text. Absent for all. */
  readonly models?: readonly string[]
  /** Requests and tokens in any 60 seconds, and requests at once. */
  readonly rpm?: number
  readonly tpm?: number
  readonly concurrency?: number
  readonly budget?: { readonly amount: Micros; readonly per: PlainPeriod }
  /** It is the credential of an upstream without a list of keys, so it is always used: there is no other. */
  readonly isOnly?: boolean
}

/** The client's fields that are sent upstream, for one operation. */
export type ForwardRule =
  | { readonly kind: 'only'; readonly names: ReadonlySet<string> }
  | { readonly kind: 'all'; readonly except: ReadonlySet<string> }

/**
 * Fields or headers that identify the conversation: paths of body fields, then names of headers. The first one that is
 * present counts.
 */
export type Affinity = { readonly fields: readonly (readonly string[])[]; readonly headers: readonly string[] }

export type Family = {
  readonly name: string
  readonly origin: Origin
  /** Operations that may answer as a stream. */
  readonly streams: ReadonlySet<string>
  /** The largest `n` that a client may request. */
  readonly nMax: number
  readonly forward: ReadonlyMap<string, ForwardRule>
  /** Fields that are set if the client sends none; absent for none. */
  readonly defaults?: ReadonlyMap<string, Json>
  /**
   * Fields and members of bodies that name further models. A model in `instead` may answer in place of the body's own,
   * and the response decides the charge; models in `beside` run in addition. Absent for none.
   */
  readonly further?: {
    readonly instead: readonly (readonly string[])[]
    readonly beside: readonly (readonly string[])[]
  }
  /**
   * The tools that upstreams may run for these models, by their names in requests; `*` matches any ending. Absent in
   * families without the setting: all tools are sent on, except those that make images.
   */
  readonly vendorTools?: readonly string[]
  /**
   * Ids of objects that every key may use without having created them here; `*` matches any ending. Absent for none.
   */
  readonly sharedObjects?: readonly string[]
  /** The reporting of usage in sessions; absent for each turn. */
  readonly sessionUsage?: 'turn' | 'running'
  /** The field of requests that identifies the conversation; absent without affinity. */
  readonly affinity?: Affinity
  /** Request and response headers that pass in addition to those of the API format; absent for none. */
  readonly forwardHeaders?: HeaderRule
  readonly replyHeaders?: HeaderRule
  /** By operation. */
  readonly calls?: ReadonlyMap<string, Call>
  /** One section per plugin, by the plugin's name, already checked against its schema. */
  readonly facets: ReadonlyMap<string, unknown>
  /**
   * Whether a plugin of the pipeline charges the items of such a response separately, as images. Other usage of the
   * request then has a separate charge. Absent if no plugin does.
   */
  chargesItems?(operation: string, body: Body): boolean
  /** Notes on its models for clients, in sentences of each language. */
  readonly notes: { readonly en: readonly string[]; readonly zh: readonly string[] }
}

/** An upstream that a model runs on. */
export type Candidate = {
  readonly upstream: Upstream
  /** Share of the requests among upstreams of one priority. */
  readonly weight: number
  readonly priority: number
  /** The upstream's name for the model. */
  readonly sendAs: string
  /** The model that answers there, if it is a fallback for the requested one. */
  readonly fallback?: Model
}

/** The date from which a model is no longer served by its vendor. */
export type ModelEnd = {
  /** As written: `2026-12-01`. */
  readonly date: string
  /** Milliseconds since the epoch: the beginning of that day, UTC. */
  readonly at: number
  /** In the format of headers (RFC 8594): `Tue, 01 Dec 2026 00:00:00 GMT`. */
  readonly sunset: string
}

/** The upstream's name for a model; undefined if it does not run there. */
export function nameOn(upstream: Pick<Upstream, 'name'>, model: Model): string | undefined {
  return model.upstreams.find(one => one.upstream.name === upstream.name)?.sendAs
}

/** A model that a body names in addition to its own, and its position: `models[1]`. */
export type FurtherModel = { readonly model: Model; readonly place: string; readonly runs: 'instead' | 'beside' }

export type Price = { readonly micros: Micros; readonly origin: Origin }

export type Model = {
  readonly name: string
  /** The wildcard entry of the file that serves it: `vendor-*`. That entry itself is a model with this name. */
  readonly wildcard?: string
  /** The name was chosen by a client and is not in the file, so memory and metrics must not keep it. */
  readonly unlisted?: true
  readonly origin: Origin
  readonly family: Family
  /** Its upstreams, never empty. Those with the lowest priority number are tried first; weights choose among equals. */
  readonly upstreams: readonly Candidate[]
  /**
   * Upstreams of fallback models, which answer if none of `upstreams` does; their priorities are later. Absent for
   * none.
   */
  readonly fallbacks?: readonly Candidate[]
  /** By price name: a tier's label, `input`, `output` …; empty when the model is free. */
  readonly prices: ReadonlyMap<string, Price>
  /** The first entry whose conditions hold replaces the prices that it lists; absent for none. */
  readonly overrides?: readonly {
    readonly if: PriceConditions
    readonly prices: ReadonlyMap<string, Price>
    readonly origin: Origin
  }[]
  /** Factors of usage prices, each applied if its conditions hold; absent for none. */
  readonly times?: readonly { readonly if: PriceConditions; readonly by: string; readonly origin: Origin }[]
  /** The handling of usage without a price; absent for the family's setting. */
  readonly unpriced?: UnpricedPolicy
  readonly free: boolean
  /** Absent for the family's setting. */
  readonly affinity?: Affinity
  /** By operation: fields that are set if the client sends none, before the family's; absent for none. */
  readonly defaults?: ReadonlyMap<string, ReadonlyMap<string, Json>>
  readonly limits: Limits
  /** Operations whose API formats clients may also use for it; a plugin translates them. Absent for none. */
  readonly accepts?: ReadonlySet<string>
  /** The handling of a request that cannot be fully translated; absent: it is refused if the result would change. */
  readonly onLoss?: 'refuse' | 'drop'
  /** Absent: no request that may have been sold is sent again, and none is sent to the same upstream again. */
  readonly retry?: RetryPolicy
  /** Absent if responses are not cached. */
  readonly cache?: CachePolicy
  /** The end of its service; absent if unknown. */
  readonly ends?: ModelEnd
  /** Whether it is offered. If not, it is hidden from lists and refused, but still known for old records. */
  readonly enabled: boolean
}
