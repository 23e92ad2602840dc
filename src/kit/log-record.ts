import { type BillingRecord, billingRecord } from './billing-record.ts'
import type { Charge } from './charge.ts'
import type { LogRow } from './journal.ts'
import type { KnownPlugin } from './plugin-facts.ts'

/** One record of the request log. Programs read it: its fields are not renamed. */
export type LogRecord = {
  readonly id: string
  readonly time: string
  readonly key_id: string | null
  readonly user: string | null
  readonly group: string | null
  readonly model: string | null
  readonly operation: string
  readonly status: number | null
  readonly outcome: LogRow['outcome']
  readonly error: string | null
  readonly duration_ms: number
  readonly upstream: string | null
  readonly config_revision: string
  readonly forwarded: readonly string[]
  readonly dropped: readonly string[]
  readonly client_request_id: string | null
  readonly billing: BillingRecord | null
  readonly usage: { readonly input_tokens: number | null; readonly output_tokens: number | null }
}

/** A row of the log and its charge, when it has one, as one record. `known`: the plugins that may have made the charge. */
export function logRecord(row: LogRow, charge: Charge | null, known: readonly KnownPlugin[]): LogRecord {
  return {
    id: row.id,
    time: new Date(row.time).toISOString(),
    key_id: row.keyId,
    user: row.user,
    group: row.group,
    model: row.model,
    operation: row.operation,
    status: row.status,
    outcome: row.outcome,
    error: row.errorCode,
    duration_ms: row.durationMs,
    upstream: row.upstream,
    config_revision: row.configRevision,
    forwarded: row.forwarded,
    dropped: row.dropped,
    client_request_id: row.clientRequestId,
    billing: charge && billingRecord(charge, known),
    usage: { input_tokens: row.inputTokens, output_tokens: row.outputTokens },
  }
}
