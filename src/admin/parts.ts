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
import type { AttemptCounters } from './session/network-rate-limit.ts'

/** An error or a note about a configuration. */
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

/** The configuration as read, without its secrets. */
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
  /** Undefined if changes can be written. */
  whyNot(): Promise<{ readonly reason: 'off' | 'no-file' | 'read-only'; readonly detail: string } | undefined>
  write(
    edits: readonly ConfigEdit[],
    base: string,
    /** The author of the change. */
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
  /** Equal for upstreams that share their connections. */
  readonly pool: object
  readonly busy: number
  readonly most: number
  readonly waiting: number
  /** The waits of the last five minutes. */
  readonly waits: { readonly count: number; readonly p50Ms: number | null; readonly p95Ms: number | null }
}

/** The parts of the gateway that the console's server needs. */
export type AdminParts = {
  readonly storage: Storage
  readonly clock: Clock
  /** Counts attempts to sign in. */
  readonly counters: AttemptCounters
  readonly random: Random
  readonly ids: Ids
  readonly log: Log
  /** The configuration in use. */
  plan(): CompiledConfig
  readonly facts: {
    readonly version: string
    /** When the gateway started, and when the current configuration took effect; milliseconds since the epoch. */
    readonly startedAt: number
    loadedAt(): number
    /** The last reload of the configuration; undefined if there was none. */
    lastReload(): { readonly at: number; readonly result: Reloaded } | undefined
    /** Upstreams that are simulated, by name. */
    simulated(): readonly string[]
    /** The number of requests that have not settled. */
    open(): number
    countersHealthy(): boolean
    /**
     * When the certificate of the API listener expires, in milliseconds since the epoch; null if TLS ends elsewhere.
     */
    certificateEnds(): number | null
    /** Bytes of bodies in memory, at present. */
    heldBytes(): number
    /** The number of client connections. */
    connections(): number
    /** The maximum of both; null for no limit. */
    bounds(): { readonly connections: number | null; readonly heldBytes: number }
    /** The used slots of concurrency limits that several requests share, for all processes that count together. */
    places(): Promise<readonly SlotsInUse[]>
    /**
     * Connections of this process to an upstream, and the time that requests waited for one; undefined before its first
     * request.
     */
    connectionsTo(upstream: Upstream): UpstreamConnections | undefined
    /** False while the upstream is paused after failures. */
    upstreamHealthy(name: string): boolean
  }
  readonly upstreams: {
    /** The states of an upstream's keys; none if it needs no credential. */
    report(upstream: Upstream): readonly KeyReport[]
    /** How long a key stays paused after failures, in milliseconds. */
    restMs(name: string): number
    /** Tests a key with a request that costs nothing. Never rejects. */
    test(key: VendorKey): Promise<KeyTrial>
    /** Reads the results of other processes. */
    learn(): Promise<void>
  }
  /** @throws Failure for the client */
  explain(plan: CompiledConfig, request: ImaginedRequest): RequestExplanation
  /** All prices of a plan. */
  prices(plan: CompiledConfig): Promise<PriceList>
  /** Deletes a stored object at the upstream and vendor key that created it. Never rejects. */
  deleteAtVendor(object: StoredObject): Promise<VendorDeletion>
  /** Reloads the configuration; undefined if another process decides that. */
  readonly reload: ((by: string) => Promise<Reloaded>) | undefined
  /** Checks a text as a configuration, without starting anything. */
  check(text: string): Promise<{ readonly ok: boolean; readonly findings: readonly ConfigFinding[] }>
  show(): Promise<ShownConfig>
  /** Whether a response to this user, for the session key of that name, contained this link. */
  wasHanded(user: string, keyName: string, url: string): boolean
  /**
   * The costs of past charges under another configuration: a text, which is not stored, or a change to the current
   * files.
   * @throws the reason of `signal` if it is aborted
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
    /** Without an earlier configuration, all files of `after` are new, and no changes are listed. */
    compare(before: StoredConfig | undefined, after: StoredConfig): ConfigDifference
    /**
     * The changes of models and groups that restore the files of that version, each with its current value, and the
     * settings afterwards, unless the check refuses them. If there are more than `most` changes, each entry is
     * one change. Undefined if a text was too long to store.
     * @throws Error if the files are unreadable
     */
    restore(
      kept: StoredConfig,
      most: number,
    ): Promise<
      | {
          readonly edits: readonly (ConfigEdit & { readonly was: Json | undefined })[]
          readonly settings: StoredConfig['settings'] | undefined
        }
      | undefined
    >
    /**
     * The same as `costUnder` for a stored configuration, without its secrets; undefined if a text was too long to
     * store.
     */
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
  /** Changes of the configuration's files: proposed, and written if that is allowed. */
  readonly edits: ConfigEdits
  /** The network of an address. Attempts are counted by network, because its owner can use any address in it. */
  networkOf(address: string): string
  /** A new API key: the secret, which is shown once, and the part to store. */
  newSecret(): { readonly secret: string; readonly hash: string; readonly hint: string }
  hashPassword(password: string): Promise<string>
  verifyPassword(password: string, hash: string): Promise<boolean>
  /** The folder of the built console. */
  readonly assets: string
  /** The renderer of the public pages, from the same build; undefined if there is none. */
  pages(): Promise<Pages | undefined>
}
