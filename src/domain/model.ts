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

/** What a limit is of: requests or tokens in any 60 seconds, or requests in flight at once. */
export type LimitKind = 'rpm' | 'tpm' | 'concurrency'

export type Limits = {
  /** Requests in any 60 seconds. */
  readonly rpm?: number
  /** Tokens in any 60 seconds. */
  readonly tpm?: number
  /** Requests in flight at once, of each key. */
  readonly concurrency?: number
  /** Those that count and never refuse. */
  readonly shadow?: readonly LimitKind[]
  /** The requests that a model limit counts: all of them together, or those of each key. */
  readonly scope?: 'gateway' | 'key'
}

export type Group = {
  readonly name: string
  readonly limits: Limits
  /** Whose requests the group's limits count together. */
  readonly limitScope: 'key' | 'user'
  /** How many keys each of its users may make; absent for as many as they like. */
  readonly keysMax?: number
  /** Jobs of each key that may be open, of those whose clients do not wait; absent for 100. */
  readonly jobs?: number
  /** What each key may have kept at upstreams: how many files, conversations …, and their bytes; absent for as much as it likes. */
  readonly storedObjects?: { readonly max?: number; readonly bytesMax?: number }
  /** The models that its keys may use, whatever each of them may in addition; a last `*` matches the rest of a name. Absent for all. */
  readonly models?: readonly string[]
  /** Names that its keys may use for models, each with the model that serves it; absent for none. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Factor on token prices, as a decimal string; prices per picture ignore it. */
  readonly multiplier: string
  /** What all keys of one user may use together, of each user of the group. */
  readonly limitsPerUser?: Limits
  /** What each end user may use, of each user of the group. */
  readonly limitsPerEndUser?: Limits
  /** What all keys of the group may use together. */
  readonly limitsInAll?: Limits
  /** What all of the group may spend together; absent for no bound. */
  readonly budget?: Budget
  /** The budget of each of its users without a budget of their own. */
  readonly userBudget?: Budget
  /** What each end user of each of its users may spend. */
  readonly endUserBudget?: Budget
  /** The same for single ones, by their names as the attribution stores them. */
  readonly endUserBudgets?: ReadonlyMap<string, Budget>
}

export type Timeouts = {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
  /** For the rest of an answer that has begun and whose caller has left. */
  readonly afterLeaveMs: number
}

/** The path of an operation at the upstream, if it is not the route's own path. */
export type Call = {
  /** With `{model}`, `{model:segment}` and the names of the route. */
  readonly path: string
  /** The route's if absent. */
  readonly method?: string
  /** Replaces the caller's. */
  readonly query: { readonly [name: string]: string }
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  /** What differs for a stream. */
  readonly stream: { readonly path?: string; readonly query?: { readonly [name: string]: string } }
}

/** What an upstream knows us by. */
export type Credential =
  | { readonly kind: 'header'; readonly header: string; readonly value: string }
  | { readonly kind: 'query'; readonly name: string; readonly value: string }
  /** What a signing plugin works out for each request. Options are checked against the plugin's schema. */
  | {
      readonly kind: 'sign'
      readonly signer: string
      readonly options: unknown
      /** Those of the options that must not be shown. */
      readonly secrets: readonly string[]
      readonly origin: Origin
    }

export type Upstream = {
  readonly name: string
  /** As written: `https://…` or `simulator:NAME`. */
  readonly url: string
  /** Every one of them goes with every request, to the origin of `url` alone. */
  readonly credential: readonly Credential[]
  /** More fixed headers for every request. */
  readonly headers: { readonly [name: string]: string }
  /** By operation; takes precedence over the family. */
  readonly calls?: ReadonlyMap<string, Call>

  /** Fixed parameters of the query of every request. */
  readonly query: { readonly [name: string]: string }
  readonly timeouts: Timeouts
  /** Where it runs: prices may depend on that, and few answers report it. */
  readonly region?: string
  /** What traces call the vendor (`gen_ai.provider.name`); absent for the upstream's name. */
  readonly provider?: string
  /** What connections to it go through; absent for what the environment names. */
  readonly proxy?: ProxyAddress | 'none'
  /** Who may sign its certificate, in PEM form; absent for those that the system trusts. */
  readonly ca?: string
  /** An answer of more bytes is cut, as they come and as they are once unpacked. */
  readonly answerBytesMax: number
  /** Whether sockets are used again; undefined leaves it to the route. */
  readonly reuse: boolean | undefined
  /** When it is paused: after so many failures in a row, for so long; then one request tries it. */
  readonly cooldown: { readonly failures: number; readonly forMs: number }
  /** Connections to it, of one process, at most; absent for 256. */
  readonly connections?: number
  /** Where all are in use, so many requests wait for one (absent: 1024), and for so long (30 s); others are refused. */
  readonly queue?: { readonly max?: number; readonly forMs?: number }
  /** Requests that it is sent at once, at most; absent for no bound. */
  readonly concurrency?: number
  /** The bound counts and never refuses. */
  readonly shadow?: readonly LimitKind[]
  /** Its keys, used one at a time: where none are listed, `credential` is the only one. Absent without any. */
  readonly keys?: readonly VendorKey[]
  /** The key that this one is used with; absent for the upstream itself. */
  readonly key?: string
  /** What its answers mean, before the table that is known of all. */
  readonly outcomes?: readonly OutcomeRow[]
  /** What may have been sold is requested once more elsewhere. */
  readonly paysTwice?: boolean
  /** What its keys are tried at, for free. */
  readonly probePath?: string
}

/** A key that an upstream knows us by. */
export type VendorKey = {
  readonly name: string
  /** `UPSTREAM/NAME`: its name in counters and stores. */
  readonly id: string
  /** The upstream with this key. */
  readonly upstream: Upstream
  /** Of its secret: one that was changed is another key. */
  readonly hash: string
  /** What people may see of its secret: its last characters. */
  readonly hint: string
  /** Its share among the usable keys; 0 gets nothing new. */
  readonly weight: number
  /** The models that it serves, one `*` for any text; absent for all. */
  readonly models?: readonly string[]
  /** Requests and tokens in any 60 seconds, and requests at once. */
  readonly rpm?: number
  readonly tpm?: number
  readonly concurrency?: number
  readonly budget?: { readonly amount: Micros; readonly per: PlainPeriod }
  /** It is the credential of an upstream without a list: if there is no other one, it is always used. */
  readonly isOnly?: boolean
}

/** Which of the caller's fields go upstream, for one operation. */
export type ForwardRule =
  | { readonly kind: 'only'; readonly names: ReadonlySet<string> }
  | { readonly kind: 'all'; readonly except: ReadonlySet<string> }

/** Hints of a request: paths of its fields, then names of its headers. The first that it has counts. */
export type Affinity = { readonly fields: readonly (readonly string[])[]; readonly headers: readonly string[] }

export type Family = {
  readonly name: string
  readonly origin: Origin
  /** Operations that may answer as a stream. */
  readonly streams: ReadonlySet<string>
  /** The largest `n` that a caller may request. */
  readonly nMax: number
  readonly forward: ReadonlyMap<string, ForwardRule>
  /** Fields that are set where the caller sends none; absent for none. */
  readonly defaults?: ReadonlyMap<string, Json>
  /**
   * Where bodies name further models, fields and members within them: one of `instead` may answer in place of the body's own,
   * and the answer decides what is charged; those of `beside` run in addition. Absent for none.
   */
  readonly further?: {
    readonly instead: readonly (readonly string[])[]
    readonly beside: readonly (readonly string[])[]
  }
  /**
   * The tools that upstreams may run for these models, by what a request calls them; `*` matches the rest of a name. Absent
   * in families without the setting: all are sent on, except those that make images.
   */
  readonly vendorTools?: readonly string[]
  /** Ids of objects that every key may name, though none made them here; `*` matches the rest of one. Absent for none. */
  readonly sharedObjects?: readonly string[]
  /** How upstreams report the usage of sessions; absent for each turn. */
  readonly sessionUsage?: 'turn' | 'running'
  /** The place in requests that names their conversation; absent without affinity. */
  readonly affinity?: Affinity
  /** Headers of its requests, and of its answers, that pass in addition to those of the API format; absent for none. */
  readonly forwardHeaders?: HeaderRule
  readonly replyHeaders?: HeaderRule
  /** By operation. */
  readonly calls?: ReadonlyMap<string, Call>
  /** One section per plugin, by the plugin's name, already checked against its schema. */
  readonly facets: ReadonlyMap<string, unknown>
  /**
   * Whether a plugin of the pipeline charges the items of such an answer one by one, as images. What else the request
   * uses then has a charge of its own. Absent where no plugin does.
   */
  chargesItems?(operation: string, body: Body): boolean
  /** What callers should know of its models, in sentences of each language. */
  readonly notes: { readonly en: readonly string[]; readonly zh: readonly string[] }
}

/** An upstream that a model runs on. */
export type Candidate = {
  readonly upstream: Upstream
  /** Share of the requests among candidates of one priority. */
  readonly weight: number
  readonly priority: number
  /** The name that this upstream knows the model by. */
  readonly sendAs: string
  /** The model that answers there, if it is a fallback of the one that was requested. */
  readonly fallback?: Model
}

/** When a model is no longer served by its vendor. */
export type ModelEnd = {
  /** As written: `2026-12-01`. */
  readonly date: string
  /** Milliseconds since the epoch: the beginning of that day, UTC. */
  readonly at: number
  /** As headers write it (RFC 8594): `Tue, 01 Dec 2026 00:00:00 GMT`. */
  readonly sunset: string
}

/** The upstream's name for a model; undefined if it does not run there. */
export function nameOn(upstream: Pick<Upstream, 'name'>, model: Model): string | undefined {
  return model.upstreams.find(one => one.upstream.name === upstream.name)?.sendAs
}

/** A model that a body names in addition to its own, and where: `models[1]`. */
export type FurtherModel = { readonly model: Model; readonly place: string; readonly runs: 'instead' | 'beside' }

export type Price = { readonly micros: Micros; readonly origin: Origin }

export type Model = {
  readonly name: string
  /** The entry of the file that serves it, if its name has a `*`: `vendor-*`. That entry itself is a model of this name. */
  readonly wildcard?: string
  /** No one wrote its name down: callers choose it, so memory and metrics must not keep it. */
  readonly unlisted?: true
  readonly origin: Origin
  readonly family: Family
  /** Where it runs: those of the lowest priority number are tried first, among equals by weight. Never empty. */
  readonly upstreams: readonly Candidate[]
  /** Where other models run that answer if none of `upstreams` does; of later priorities. Absent for none. */
  readonly fallbacks?: readonly Candidate[]
  /** By what the price is for: a tier's label, `input`, `output` …; empty when the model is free. */
  readonly prices: ReadonlyMap<string, Price>
  /** The first whose conditions hold replaces those prices that it names; absent for none. */
  readonly overrides?: readonly {
    readonly if: PriceConditions
    readonly prices: ReadonlyMap<string, Price>
    readonly origin: Origin
  }[]
  /** Factors of what is priced by use, each where its conditions hold; absent for none. */
  readonly times?: readonly { readonly if: PriceConditions; readonly by: string; readonly origin: Origin }[]
  /** What happens to use without a price; absent for the family's setting. */
  readonly unpriced?: UnpricedPolicy
  readonly free: boolean
  /** Absent for the family's setting. */
  readonly affinity?: Affinity
  /** By operation: fields that are set where the caller sends none, before the family's; absent for none. */
  readonly defaults?: ReadonlyMap<string, ReadonlyMap<string, Json>>
  readonly limits: Limits
  /** Operations in whose API formats clients may call it too; a plugin translates them. Absent for none. */
  readonly accepts?: ReadonlySet<string>
  /** What happens to a request of which a part cannot be translated; absent: what changes the result is refused. */
  readonly onLoss?: 'refuse' | 'drop'
  /** Absent where no request is sent again that may have been sold, nor to the same upstream. */
  readonly retry?: RetryPolicy
  /** Absent where no answer is kept for equal requests. */
  readonly cache?: CachePolicy
  /** Absent if its end is unknown. */
  readonly ends?: ModelEnd
  /** Hidden from model lists and refused, but still known for old records. */
  readonly enabled: boolean
}
