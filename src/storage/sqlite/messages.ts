import type {
  Audit,
  Charge,
  Key,
  KeyFilter,
  LogFilter,
  LogMatch,
  LogRow,
  LogStep,
  Summary,
  TrailFilter,
  TrailRow,
  UsageMatch,
  UsageRow,
} from '../../kit/index.ts'
import type { StorageErrorCode } from '../errors.ts'
import type { Span } from '../journal/summary.ts'
import type { Recovery } from '../ledger/recover.ts'
import type { Op } from '../ops.ts'
import type { ConnectOptions } from './connect.ts'

/** An error as it crosses threads. */
export type Fault = { readonly message: string; readonly code?: StorageErrorCode }

export type WriterStart = {
  readonly path: string
  readonly connect: ConnectOptions
  readonly owner: string
  readonly chain: string
  /** Begin a new epoch and recover what earlier ones left, at this time; null to work in the epoch that is. */
  readonly recoverAt: number | null
  /** The epoch to go on with, when a writer of the same owner stood here before. */
  readonly epoch: number | null
  /** Bytes that must be free on the disk for new charges to be opened. */
  readonly diskBytesMin: number
}

/** To the writer: one group, or the end. */
export type ToWriter = { readonly ops: readonly Op[] } | { readonly close: true }

export type FromWriter =
  | { readonly kind: 'ready'; readonly recovery: Recovery }
  /** Less room on the disk than charges in flight may need, and why; undefined when there is enough again. */
  | { readonly kind: 'room'; readonly short: string | undefined }
  | { readonly kind: 'refused'; readonly fault: Fault }
  /**
   * A group is through. `values` and `faults` stand by the operation's place in the group; an operation with a fault
   * changed nothing. `broken` says why the storage could not be written: operations beyond `values` are not known to be
   * committed.
   */
  | {
      readonly kind: 'group'
      readonly values: readonly unknown[]
      readonly faults: readonly (Fault | undefined)[]
      readonly broken: string | undefined
    }

/** What the reader answers, by name. */
export type Readings = {
  keys: { given: KeyFilter; gives: readonly Key[] }
  trail: { given: TrailFilter; gives: readonly TrailRow[] }
  steps: {
    given: { readonly match: LogMatch & { since: number; until: number }; readonly stepMs: number }
    gives: readonly LogStep[]
  }
  summary: { given: Span; gives: Summary }
  usage: { given: UsageMatch; gives: readonly UsageRow[] }
  logs: { given: LogFilter; gives: readonly { readonly row: LogRow; readonly charge: Charge | null }[] }
  charges: { given: { readonly after: string | null; readonly limit: number }; gives: readonly Charge[] }
  audit: { given: null; gives: Audit }
}

export type Reading = keyof Readings
export type Question = {
  [R in Reading]: { readonly id: number; readonly reading: R; readonly given: Readings[R]['given'] }
}[Reading]
export type ToReader = Question | { readonly close: true }
export type FromReader = { readonly id: number; readonly value?: unknown; readonly fault?: string }
