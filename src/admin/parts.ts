import type {
  Json,
  ImaginedRequest,
  StoredConfig,
  StoredObject,
  ConfigDifference,
  KeyReport,
  KeyTrial,
  CompiledConfig,
  PriceList,
  RequestExplanation,
  Storage,
  Upstream,
  VendorDeletion,
  VendorKey,
} from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Clock, Ids, Random } from '../util/index.ts'
import type { WhatIf } from '../domain/what-if.ts'
import type { Pages } from './pages/page-data.ts'

/** Something wrong, or worth knowing, in a configuration. */
export type ConfigFinding = {
  readonly severity: 'error' | 'warning' | 'note'
  readonly code: string
  readonly message: string
  readonly remedy?: string
  readonly line: number
  readonly col: number
  readonly path: string
}

export type Reloaded =
  | { readonly ok: true; readonly revision: string; readonly changes: readonly string[] }
  | { readonly ok: false; readonly findings: readonly ConfigFinding[] }

/** The configuration as it was read, without what is secret in it. */
export type ShownConfig = {
  readonly text: string
  readonly origins: readonly {
    readonly path: string
    readonly value: string
    readonly file: string | null
    readonly line: number | null
    readonly from: 'file' | 'environment' | 'default'
  }[]
}

type ConfigEdit = { readonly path: readonly (string | number)[]; readonly value?: Json }

type EditableEntry = {
  readonly name: string
  readonly file: string
  readonly line: number
  readonly own: Json
  readonly whole: Json
}

type Editable = {
  readonly models: readonly EditableEntry[]
  readonly groups: readonly EditableEntry[]
  readonly families: readonly { readonly name: string; readonly prices: readonly string[] }[]
  readonly upstreams: readonly string[]
  readonly route_sets: readonly string[]
}

type FileDiff = {
  readonly file: string
  readonly hunks: readonly {
    readonly before: number
    readonly after: number
    readonly lines: readonly { readonly kind: 'same' | 'gone' | 'new'; readonly text: string }[]
  }[]
}

type Refused = { readonly why: string; readonly edit: ConfigEdit | undefined }

/** Changes of models, prices and groups in the configuration's files. */
export type ConfigEdits = {
  list(): Promise<{ readonly base: string } & Editable>
  propose(edits: readonly ConfigEdit[]): Promise<
    | {
        readonly base: string
        readonly ok: boolean
        readonly findings: readonly ConfigFinding[]
        readonly changes: readonly string[]
        readonly files: readonly FileDiff[]
        readonly patch: string | null
        readonly notes: readonly string[]
      }
    | Refused
  >
  /** Undefined where changes can be written. */
  whyNot(): Promise<{ readonly reason: 'off' | 'no-file' | 'read-only'; readonly detail: string } | undefined>
  write(
    edits: readonly ConfigEdit[],
    base: string,
    /** Who has it written. */
    by: string,
  ): Promise<
    | {
        readonly kind: 'written'
        readonly files: readonly string[]
        readonly backups: readonly string[]
        readonly changes: readonly string[]
        readonly revision: string | undefined
      }
    | {
        readonly kind: 'refused'
        readonly findings: readonly ConfigFinding[]
        readonly left?: { readonly files: readonly string[]; readonly changes: readonly string[] }
      }
    | { readonly kind: 'changed'; readonly file: string; readonly detail: string }
    | { readonly kind: 'read-only'; readonly file: string; readonly detail: string }
    | Refused
  >
}

type SlotsInUse = {
  readonly of: 'upstream' | 'key' | 'group'
  readonly name: string
  readonly taken: number
  readonly limit: number
}

type UpstreamConnections = {
  /** The same for upstreams that share their connections. */
  readonly pool: object
  readonly busy: number
  readonly most: number
  readonly waiting: number
  /** Of the last five minutes. */
  readonly waits: { readonly count: number; readonly p50Ms: number | null; readonly p95Ms: number | null }
}

/** Everything that the console's server needs of the gateway around it. */
export type AdminParts = {
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  readonly log: Log
  /** The configuration in use. */
  plan(): CompiledConfig
  readonly facts: {
    readonly version: string
    /** When the gateway started, and when it took over the configuration in use; milliseconds since the epoch. */
    readonly startedAt: number
    loadedAt(): number
    /** The last time that the configuration was read again; undefined when it was not. */
    lastReload(): { readonly at: number; readonly result: Reloaded } | undefined
    /** Upstreams that are simulated, by name. */
    simulated(): readonly string[]
    /** Requests that have not settled. */
    open(): number
    countersHealthy(): boolean
    /** When the certificate of callers' listener ends, in milliseconds since the epoch; null where TLS ends elsewhere. */
    certificateEnds(): number | null
    /** Of bodies that are held in memory. */
    heldBytes(): number
    /** Connections of callers. */
    connections(): number
    /** The most of these that there may be; null for no bound. */
    bounds(): { readonly connections: number | null; readonly heldBytes: number }
    /** What is taken of limits of what runs at once that several requests share: of all that count together. */
    places(): Promise<readonly SlotsInUse[]>
    /** Connections of this process to an upstream, and how long requests waited for one; undefined before its first request. */
    connectionsTo(upstream: Upstream): UpstreamConnections | undefined
    /** False while the upstream is paused after failures. */
    upstreamHealthy(name: string): boolean
  }
  readonly upstreams: {
    /** The states of the keys of one; none where it is sent no credential. */
    report(upstream: Upstream): readonly KeyReport[]
    /** How long one stays paused after failures, in milliseconds. */
    restMs(name: string): number
    /** Tries a key at what costs nothing. Never rejects. */
    test(key: VendorKey): Promise<KeyTrial>
    /** Takes over what other processes have found. */
    learn(): Promise<void>
  }
  /** @throws Failure the one that a caller would be answered with */
  explain(plan: CompiledConfig, request: ImaginedRequest): RequestExplanation
  /** What everything costs. */
  prices(plan: CompiledConfig): PriceList
  /** Deletes a stored object at the upstream and vendor key that made it. Never rejects. */
  deleteAtVendor(object: StoredObject): Promise<VendorDeletion>
  /** Reads the configuration again; undefined where another process decides that. */
  readonly reload: ((by: string) => Promise<Reloaded>) | undefined
  /** Reads a text as the configuration, and starts nothing. */
  check(text: string): Promise<{ readonly ok: boolean; readonly findings: readonly ConfigFinding[] }>
  show(): Promise<ShownConfig>
  /** Whether an answer has handed this link to a key of that name, which is a session's, of that user. */
  wasHanded(user: string, keyName: string, url: string): boolean
  /**
   * What the charges of some time would have cost by a text as the configuration, of which nothing is kept, or by a change of
   * its own files.
   * @throws what `signal` is aborted with
   */
  costUnder(
    terms: { readonly text: string } | { readonly edits: readonly ConfigEdit[] },
    span: { readonly since: number; readonly until: number },
    signal: AbortSignal,
  ): Promise<
    | { readonly ok: true; readonly costs: WhatIf }
    | { readonly ok: false; readonly findings: readonly ConfigFinding[] }
    | Refused
  >
  /** Configurations that took effect. */
  readonly history: {
    /** All of `after` is new where there is nothing before it. */
    compare(before: StoredConfig | undefined, after: StoredConfig): ConfigDifference
    /**
     * The changes of models and groups that make the files what they were then, and what is written now; undefined where a
     * text of it was too long to keep.
     * @throws Error when the files cannot be read
     */
    restore(kept: StoredConfig): Promise<readonly (ConfigEdit & { readonly was: Json | undefined })[] | undefined>
    /** The same as `costUnder` by one of them, its secrets left out; undefined where a text of it was too long to keep. */
    cost(
      kept: StoredConfig,
      span: { readonly since: number; readonly until: number },
      signal: AbortSignal,
    ): Promise<
      | { readonly ok: true; readonly costs: WhatIf }
      | { readonly ok: false; readonly findings: readonly ConfigFinding[] }
      | undefined
    >
  }
  /** Changes of the configuration's files: proposed, and written where that is allowed. */
  readonly edits: ConfigEdits
  /** What attempts from an address are counted against: its network, in which its owner can pick other addresses. */
  networkOf(address: string): string
  /** A new API key: what is shown once, and what is kept of it. */
  newSecret(): { readonly secret: string; readonly hash: string; readonly hint: string }
  hashPassword(password: string): Promise<string>
  verifyPassword(password: string, hash: string): Promise<boolean>
  /** The folder of the built console. */
  readonly assets: string
  /** What renders the public pages, of the same build; undefined where there is none. */
  pages(): Promise<Pages | undefined>
}
