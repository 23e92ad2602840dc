import type { EventKind } from './events.ts'
import type { Family, Group, Model, Origin, Upstream } from './model.ts'
import type { DeferredTraits } from './deferred.ts'
import type { KnownPlugin } from './plugin-facts.ts'
import type { OperationTraits } from './operation.ts'
import type { SignInPlan } from './sign-in.ts'
import type { ObjectTraits } from './stored-objects.ts'

export type Route = {
  readonly method: string
  /** As written: `/v1/images/edits`, `/v1/charges/{id}`. Each alias is a separate route. */
  readonly path: string
  /** The path at upstreams, with the same `{names}`: the path of the route's first spelling. */
  readonly upstreamPath: string
  readonly origin: Origin
  readonly operation: string
  /** The known traits of the operation; absent for an operation that only the configuration file defines. */
  readonly traits?: OperationTraits
  /** The use of objects that upstreams store; absent for none. */
  readonly object?: ObjectTraits
  /** The work may go on after the response. */
  readonly deferred?: DeferredTraits
  /** A failed request may be sent again (`retry_on`). */
  readonly repeatable?: NonNullable<OperationTraits['repeatable']>
  /** Requests declare no tools and name no other models: fields with such names mean something else. */
  readonly runsNoTools?: true
  /** The field of the body that names the model; absent for `model`. */
  readonly modelField?: string
  /** Each `{name}` of the path is one segment. */
  readonly segments?: true
  /** The name of an API format, or `by-caller`: the API format of the caller. */
  readonly dialect: string
  /** Whether the response is a stream: always, never, or by the field `stream` of the body. */
  readonly stream: 'field' | 'always' | 'never'
  /** `form-or-json`: by the content type; `any`: bytes that pass through without parsing. */
  readonly body: 'none' | 'json' | 'form' | 'form-or-json' | 'any'
  readonly bodyBytesMax: number
  /** Whether connections may be used for several requests; undefined leaves it to the upstream. */
  readonly reuse: boolean | undefined
  /**
   * For upstreams that work in jobs: whether clients wait for the result, or get a response at once that the job was
   * accepted.
   */
  readonly jobs?: 'wait' | 'accept'
  /** Limits of the WebSocket; absent for plain requests. */
  readonly session?: SessionBounds
  /**
   * The name of a route that the gateway answers itself (`models`, `charge`); undefined for routes that go upstream.
   */
  readonly serve: string | undefined
}

export type SessionBounds = {
  /** A session without messages ends after this time. */
  readonly idleMs: number
  /** The maximum duration of a session. */
  readonly totalMs: number
  /** The peer gets a ping after this time without messages. */
  readonly pingMs: number
  readonly messageBytesMax: number
  /** The maximum number of open sessions of one key in one process. */
  readonly perKeyMax: number
  /** The request for each message; absent if frames pass through to an upstream. */
  readonly each?: { readonly method: string; readonly path: string }
}

export type PipelineStep = { readonly plugin: string; readonly options: unknown; readonly origin: Origin }

/** The plugins that explain charges. They are not frozen, because they are code of other authors. */
export type ConfigPlugins = {
  /** Plugins of the pipeline, in its order. */
  readonly inUse: readonly KnownPlugin[]
  /** These plugins and all other built-in ones, so that older charges can still be explained. */
  readonly known: readonly KnownPlugin[]
}

export type Address = { readonly host: string; readonly port: number }

export type ServerConfig = {
  readonly listen: Address
  readonly ops: Address | undefined
  readonly bodyBytesMax: number
  /** The maximum bytes of bodies in memory, for all requests together. */
  readonly memoryBytesMax: number
  /** The maximum bytes of bodies spooled to disk, for all requests together. */
  readonly spoolBytesMax: number
  /** The least severe lines of the log. */
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  /** The number of `serve` processes; `auto` is one for each CPU. An embedded gateway is always one process. */
  readonly workers: number | 'auto'
  /** The maximum time for requests in flight after the stop signal. */
  readonly drainMs: number
  /** The time after the stop signal in which new requests are still accepted; readiness checks fail meanwhile. */
  readonly drainWaitMs: number
  /**
   * The idle time after which a stream gets a heartbeat, and a client that waits for its response gets a 102;
   * undefined for neither.
   */
  readonly heartbeatMs: number | undefined
  /** The address of the console in browsers, such as `https://ai.example.com`; absent: that of the request. */
  readonly publicUrl?: string
  /** Parts of the user agents that understand a 102; other clients would take it for the response. */
  readonly agentsAccepting102: readonly string[]
  /** Web origins that may send requests; `*` is any. Empty: no CORS headers at all. */
  readonly corsOrigins: readonly string[]
  /** Whether the console, its API and the public pages are served. */
  readonly console: boolean
  /** Whether the console may write changes of models, prices and groups to the configuration files. */
  readonly consoleEdits?: boolean
  /** Paths of the certificate and of its key; absent for plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Addresses and CIDR blocks whose X-Forwarded-For is trusted. */
  readonly trustedProxies?: readonly string[]
  /** The maximum number of client connections of one process; absent for unlimited. */
  readonly connectionsMax?: number
  /** The same for each address that is not a trusted proxy. */
  readonly connectionsPerAddress?: number
}

/** The OTLP destination of traces and metrics. */
export type OtlpConfig = {
  readonly endpoint: string
  readonly headers: { readonly [name: string]: string }
  readonly traces: boolean
  readonly metrics: boolean
  readonly everyMs: number
  /** Upstreams receive the trace context. */
  readonly forwardTraceparent: boolean
  /** Additional span attributes about the client and the charge. */
  readonly attributes: ReadonlySet<OtlpAttribute>
}

/** Optional dimensions of metrics, which multiply the number of series. */
export const metricDimensions = ['model', 'group'] as const
export type MetricDimension = (typeof metricDimensions)[number]

export const otlpAttributes = ['user', 'key', 'group', 'cost'] as const
export type OtlpAttribute = (typeof otlpAttributes)[number]

/** A receiver of events. */
export type WebhookConfig = {
  readonly name: string
  readonly format: 'standard' | 'slack' | 'email'
  /** http(s), or smtp(s) for e-mail. May contain a secret, so it is never logged. */
  readonly url: string
  /** Signing secrets: the current one, and the next one during a rotation. */
  readonly secrets: readonly string[]
  readonly kinds: readonly EventKind[]
  /** Whether private network addresses are allowed. */
  readonly allowPrivate: boolean
  /** For e-mail. */
  readonly from?: string
  readonly to?: readonly string[]
}

/**
 * The effective settings with defaults, by their paths in the file and in one spelling: `server.body_max` → `32MiB`.
 * Secrets are `***`.
 */
export type ConfigSettings = { readonly [path: string]: string }

/** Files that a configuration refers to, readable or not, and patterns that further files may match. Absolute paths. */
export type ConfigFiles = { readonly named: readonly string[]; readonly patterns: readonly string[] }

/** The whole configuration, frozen. A request keeps the configuration with which it began. */
export type CompiledConfig = {
  /** First 12 hex digits of the SHA-256 of the effective configuration (secrets left out). */
  readonly revision: string
  readonly file: string
  /** The other files of the configuration; absent for none. */
  readonly files?: ConfigFiles
  /** The basis of descriptions and comparisons of configurations. */
  readonly settings: ConfigSettings
  /**
   * Files that `${file:…}` refers to, by absolute path, each with a marker of its content. Markers are comparable only
   * within this process. `''`: the file was empty.
   */
  readonly secretFiles: ReadonlyMap<string, string>
  /** The environment variables that it refers to, set or not; absent for none. */
  readonly variables?: ReadonlySet<string>
  readonly currency: string
  /** The organization on statements; absent if the configuration has no name. */
  readonly organization?: string
  readonly server: ServerConfig
  readonly storage: string
  readonly counters: string
  /** The retention of log rows; absent for unlimited. Charges are kept forever. */
  readonly logRetentionMs?: number
  /** The time after which charges under review are voided; absent: a person decides about each. */
  readonly reviewRetentionMs?: number
  /** The retention of unused names of end users and tags; absent for unlimited. */
  readonly labelRetentionMs?: number
  /** The retention of events that all receivers have got; absent for unlimited. */
  readonly eventRetentionMs?: number
  /** The receivers of events; absent for none. */
  readonly webhooks?: ReadonlyMap<string, WebhookConfig>
  /** Absent if people sign in only with passwords. */
  readonly signIn?: SignInPlan
  /** Absent if there is no telemetry except the metrics. */
  readonly otlp?: OtlpConfig
  /** Absent for none. */
  readonly metricsBy?: ReadonlySet<MetricDimension>
  /** The time zone of the days and months in which budgets renew. */
  readonly timeZone: string
  /** Percents of a budget at which an event reports how much of it is spent, smallest first. */
  readonly budgetThresholds: readonly number[]
  readonly groups: ReadonlyMap<string, Group>
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly pipeline: readonly PipelineStep[]
  readonly plugins: ConfigPlugins
  readonly families: ReadonlyMap<string, Family>
  /** By name. `get` also finds models that a wildcard serves; iteration lists only models with their own prices. */
  readonly models: ReadonlyMap<string, Model>
  /** Models whose names contain `*`, the most specific first; absent for none. */
  readonly wildcards?: readonly Model[]
  /** Warnings, each with its place, that every start and reload reports; absent for none. */
  readonly warnings?: readonly string[]
  readonly routes: readonly Route[]
}
