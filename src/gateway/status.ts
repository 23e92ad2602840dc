import type { ReloadResult } from './reload-result.ts'
import { type CompiledConfig, type ReviewStatus, storeKind, type UpstreamKeyShown } from '../domain/index.ts'
import { joinKeys } from './join-keys.ts'
import { joinUnrecognised, type UnrecognisedCount } from '../observe/index.ts'

/** The status of one process of a gateway. */
export type ProcessStatus = {
  readonly pid: number
  readonly ready: boolean
  readonly open_requests: number
  /** Resident memory in bytes. */
  readonly memory: number
  /** The 99th percentile of timer delay since the last scrape of the metrics. */
  readonly event_loop_p99_ms: number
  readonly storage_healthy: boolean
  /** The reason for that, if known: `only 120 MiB are free on the disk`. Absent in earlier versions. */
  readonly storage_trouble?: string | null
  readonly counters_healthy: boolean
  /** The remaining pause of each upstream by name; 0 if it accepts requests. */
  readonly resting_ms: { readonly [upstream: string]: number }
  /** The key states of each upstream with a list of keys. */
  readonly upstream_keys: { readonly [upstream: string]: readonly UpstreamKeyShown[] }
  /** Webhooks that accept nothing from this process: the start and the reason. Absent in earlier versions. */
  readonly silent_webhooks?: readonly { readonly name: string; readonly since: string; readonly why: string }[]
  /** Upstream responses since the start that were not recognized, the newest first. */
  readonly unrecognised: readonly UnrecognisedCount[]
}

/** The last attempt to load a new configuration. */
export type ReloadStatus = {
  readonly at: string
  readonly ok: boolean
  readonly changes: readonly string[]
  /** The reason for its refusal. */
  readonly findings: readonly string[]
}

/** The status of a gateway, in one process or in several: the response of `GET /status` on the operators' listener. */
export type Status = Omit<
  ProcessStatus,
  'pid' | 'storage_healthy' | 'storage_trouble' | 'counters_healthy' | 'resting_ms' | 'upstream_keys'
> & {
  readonly version: string
  readonly node: string
  readonly pid: number
  readonly revision: string
  readonly file: string
  readonly started: string
  readonly uptime_s: number
  /** When the active configuration took effect. */
  readonly loaded_at: string
  readonly last_reload: ReloadStatus | null
  readonly storage: { readonly kind: string; readonly healthy: boolean; readonly trouble?: string | null }
  readonly counters: { readonly kind: string; readonly healthy: boolean }
  readonly upstreams: readonly {
    readonly name: string
    readonly healthy: boolean
    readonly resting_ms: number
    readonly simulated: boolean
    /** Empty if no credential is sent; absent in earlier versions. */
    readonly keys?: readonly UpstreamKeyShown[]
  }[]
  /** Null while the storage is unreachable. */
  readonly reviews: ReviewStatus | null
  /** The serving processes. */
  readonly workers: readonly ProcessStatus[]
}

/** Combines the statuses of processes into the gateway's: it lacks something only if all processes do. */
export function joinStatus(
  plan: CompiledConfig,
  life: {
    readonly version: string
    readonly startedAt: number
    readonly now: number
    readonly loadedAt: number
    readonly lastReload: ReloadStatus | null
  },
  workers: readonly ProcessStatus[],
  reviews: ReviewStatus | null,
): Status {
  const most = (read: (one: ProcessStatus) => number): number => Math.max(0, ...workers.map(read))
  const sum = (read: (one: ProcessStatus) => number): number => workers.reduce((total, one) => total + read(one), 0)
  const all = (read: (one: ProcessStatus) => boolean): boolean => workers.length > 0 && workers.every(read)
  return {
    version: life.version,
    node: process.version,
    pid: process.pid,
    revision: plan.revision,
    file: plan.file,
    started: new Date(life.startedAt).toISOString(),
    uptime_s: Math.max(0, Math.round((life.now - life.startedAt) / 1000)),
    loaded_at: new Date(life.loadedAt).toISOString(),
    last_reload: life.lastReload,
    ready: workers.some(one => one.ready),
    open_requests: sum(one => one.open_requests),
    memory: sum(one => one.memory),
    event_loop_p99_ms: most(one => one.event_loop_p99_ms),
    storage: {
      kind: storeKind(plan.storage),
      healthy: all(one => one.storage_healthy),
      trouble: workers.map(one => one.storage_trouble).find(why => typeof why === 'string') ?? null,
    },
    counters: { kind: storeKind(plan.counters), healthy: all(one => one.counters_healthy) },
    upstreams: [...plan.upstreams.values()].map(({ name, url }) => {
      const restingMs = most(one => one.resting_ms[name] ?? 0)
      const keys = joinKeys(workers.map(one => one.upstream_keys[name] ?? []))
      return { name, healthy: restingMs === 0, resting_ms: restingMs, simulated: url.startsWith('simulator:'), keys }
    }),
    silent_webhooks: workers.flatMap(one => one.silent_webhooks ?? []),
    unrecognised: joinUnrecognised(workers.map(one => one.unrecognised)),
    reviews,
    workers,
  }
}

/** The result of a reload for operators. */
export function reloadStatus(at: number, result: ReloadResult): ReloadStatus {
  const when = new Date(at).toISOString()
  if (result.ok) return { at: when, ok: true, changes: result.changes, findings: [] }
  const findings = result.findings
    .filter(finding => finding.severity === 'error')
    .map(({ file, line, col, message }) => `${file}:${line}:${col} ${message}`)
  return { at: when, ok: false, changes: [], findings }
}
