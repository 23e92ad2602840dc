import type { EventKind } from './events.ts'
import type { Family, Group, Model, Origin, Upstream } from './model.ts'
import type { DeferredTraits } from './deferred.ts'
import type { KnownPlugin } from './plugin-facts.ts'
import type { OperationTraits } from './operation.ts'
import type { SignInPlan } from './sign-in.ts'
import type { ObjectTraits } from './stored-objects.ts'

export type Route = {
  readonly method: string
  /** As written: `/v1/images/edits`, `/v1/charges/{id}`. An alias is a route of its own. */
  readonly path: string
  /** The path at upstreams, with the same `{names}`: that of the first spelling of the route. */
  readonly upstreamPath: string
  readonly origin: Origin
  readonly operation: string
  /** What is known of the operation; absent for one that only the file has a name for. */
  readonly traits?: OperationTraits
  /** What it has to do with objects that upstreams keep; absent for nothing. */
  readonly object?: ObjectTraits
  /** Its work may go on after the response. */
  readonly deferred?: DeferredTraits
  /** A failed request may be sent again (`retry_on`). */
  readonly repeatable?: NonNullable<OperationTraits['repeatable']>
  /** Its requests declare no tools and name no models but their own: fields of such names mean something else. */
  readonly runsNoTools?: true
  /** The field of the body that names the model; absent for `model`. */
  readonly modelField?: string
  /** Each `{name}` of its path is one segment. */
  readonly segments?: true
  /** A dialect's name, or `by-caller`: the API format of the caller. */
  readonly dialect: string
  /** Whether the response is a stream: by `stream` of the body, always, or never. */
  readonly stream: 'field' | 'always' | 'never'
  /** `form-or-json`: by the content type; `any`: bytes that pass unread. */
  readonly body: 'none' | 'json' | 'form' | 'form-or-json' | 'any'
  readonly bodyBytesMax: number
  /** Whether sockets may carry one request after another; undefined leaves it to the upstream. */
  readonly reuse: boolean | undefined
  /** For what upstreams make as jobs: callers wait for it, or are answered at once that it was accepted. */
  readonly jobs?: 'wait' | 'accept'
  /** It is a WebSocket, which is bounded so; absent for requests. */
  readonly session?: SessionBounds
  /** The name of a local answer (`models`, `charge`); undefined for routes that go upstream. */
  readonly serve: string | undefined
}

export type SessionBounds = {
  /** Without a message for so long it ends. */
  readonly idleMs: number
  /** It ends after so long, whatever happens on it. */
  readonly totalMs: number
  /** After so long a silence the peer gets a ping. */
  readonly pingMs: number
  readonly messageBytesMax: number
  /** Sessions of one key that one process has open, at most. */
  readonly perKeyMax: number
  /** The request that each message becomes; absent where frames pass to an upstream. */
  readonly each?: { readonly method: string; readonly path: string }
}

export type PipelineStep = { readonly plugin: string; readonly options: unknown; readonly origin: Origin }

/** They explain charges; none of it is frozen, since it is others' code. */
export type ConfigPlugins = {
  /** Those of the pipeline, in its order. */
  readonly inUse: readonly KnownPlugin[]
  /** Those and the others that came with the gateway: what they charged once can still be explained. */
  readonly known: readonly KnownPlugin[]
}

export type Address = { readonly host: string; readonly port: number }

export type ServerConfig = {
  readonly listen: Address
  readonly ops: Address | undefined
  readonly bodyBytesMax: number
  /** Bytes of bodies held in memory, all requests together. */
  readonly memoryBytesMax: number
  /** Bytes of bodies spooled to disk, all requests together. */
  readonly spoolBytesMax: number
  /** Processes of `serve`; `auto` is one for each CPU. An embedded gateway is always one. */
  readonly workers: number | 'auto'
  /** How long requests in flight may go on after the signal to stop. */
  readonly drainMs: number
  /** How long new requests are still accepted after that, while the gateway reports that it is not ready. */
  readonly drainWaitMs: number
  /** Silence after which a stream gets a heartbeat, and a caller that waits for its answer a 102; undefined for neither. */
  readonly heartbeatMs: number | undefined
  /** The address of the console in browsers, such as `https://ai.example.com`; absent: that of the request. */
  readonly publicUrl?: string
  /** Parts of the user agents that understand a 102; others take it for the answer. */
  readonly agentsAccepting102: readonly string[]
  /** Web origins that may call; `*` is any. Empty: no CORS headers at all. */
  readonly corsOrigins: readonly string[]
  /** Whether the console, its API and the public pages are served. */
  readonly console: boolean
  /** Whether the console may write changes of models, prices and groups into the configuration's files. */
  readonly consoleEdits?: boolean
  /** Paths of the certificate and of its key; absent for plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Addresses and CIDR blocks whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[]
  /** Connections of callers at once, of one process; absent for no bound. */
  readonly connectionsMax?: number
  /** The same of one address that is no trusted proxy. */
  readonly connectionsPerAddress?: number
}

/** Where traces and metrics are sent by OTLP. */
export type OtlpConfig = {
  readonly endpoint: string
  readonly headers: { readonly [name: string]: string }
  readonly traces: boolean
  readonly metrics: boolean
  readonly everyMs: number
  /** Upstreams receive the trace context. */
  readonly forwardTraceparent: boolean
  /** Attributes of the client and the bill that a span has in addition. */
  readonly attributes: ReadonlySet<OtlpAttribute>
}

/** Dimensions of which metrics may have more series. */
export const metricDimensions = ['model', 'group'] as const
export type MetricDimension = (typeof metricDimensions)[number]

export const otlpAttributes = ['user', 'key', 'group', 'cost'] as const
export type OtlpAttribute = (typeof otlpAttributes)[number]

/** A receiver of events. */
export type WebhookConfig = {
  readonly name: string
  readonly format: 'standard' | 'slack' | 'email'
  /** http(s), or smtp(s) for e-mail. May hold a secret: it is in no line of the log. */
  readonly url: string
  /** What bodies are signed with: the secret in use, and the next one while receivers learn it. */
  readonly secrets: readonly string[]
  readonly kinds: readonly EventKind[]
  /** The address may be one of a private network. */
  readonly allowPrivate: boolean
  /** Of e-mail. */
  readonly from?: string
  readonly to?: readonly string[]
}

/**
 * What the file says, defaults filled in, by its own paths and in one spelling: `server.body_max` → `32MiB`. Secrets are
 * `***`.
 */
export type ConfigSettings = { readonly [path: string]: string }

/** Files that a configuration names: those that were read or could not be, and patterns that more may fit. Absolute paths. */
export type ConfigFiles = { readonly named: readonly string[]; readonly patterns: readonly string[] }

/** The whole configuration, frozen; a request keeps the plan it began with. */
export type CompiledConfig = {
  /** First 12 hex digits of the SHA-256 of the effective configuration (secrets left out). */
  readonly revision: string
  readonly file: string
  /** The other files that it was read from besides `file`; absent for none. */
  readonly files?: ConfigFiles
  /** The source of all the rest: a configuration and its changes are described from here. */
  readonly settings: ConfigSettings
  /**
   * Files that `${file:…}` names, by their whole paths. Each has a mark of what it held, good for comparing in this process
   * alone; `''` when it held nothing.
   */
  readonly secretFiles: ReadonlyMap<string, string>
  /** Variables of the environment that it names, set or not; absent for none. */
  readonly variables?: ReadonlySet<string>
  readonly currency: string
  /** Whose statements these are; absent if the configuration has no name. */
  readonly organization?: string
  readonly server: ServerConfig
  readonly storage: string
  readonly counters: string
  /** How long rows of the log are kept; absent for ever. Charges are. */
  readonly logRetentionMs?: number
  /** After how long charges under review are voided; absent: a person decides about each. */
  readonly reviewRetentionMs?: number
  /** How long names of end users and tags are kept that no request has; absent for ever. */
  readonly labelRetentionMs?: number
  /** How long events are kept that all receivers have got; absent for ever. */
  readonly eventRetentionMs?: number
  /** The receivers of events; absent for none. */
  readonly webhooks?: ReadonlyMap<string, WebhookConfig>
  /** Absent where passwords alone let people in. */
  readonly signIn?: SignInPlan
  /** Absent for no telemetry but the metrics. */
  readonly otlp?: OtlpConfig
  /** Absent: none. */
  readonly metricsBy?: ReadonlySet<MetricDimension>
  /** The time zone by whose days and months budgets are renewed. */
  readonly timeZone: string
  /** Percents of a budget at which an event reports how much of it is spent, smallest first. */
  readonly budgetThresholds: readonly number[]
  readonly groups: ReadonlyMap<string, Group>
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly pipeline: readonly PipelineStep[]
  readonly plugins: ConfigPlugins
  readonly families: ReadonlyMap<string, Family>
  /** By name. `get` finds models that a wildcard serves too; those that are listed have a price of their own. */
  readonly models: ReadonlyMap<string, Model>
  /** Models of which the name has a `*`, the most specific first; absent for none. */
  readonly wildcards?: readonly Model[]
  /** Sentences, each with its place, that every start and reload reports; absent where there are none. */
  readonly warnings?: readonly string[]
  readonly routes: readonly Route[]
}
