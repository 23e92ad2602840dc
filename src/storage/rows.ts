import type {
  Charge,
  ChargeRule,
  ChargeState,
  Key,
  Limits,
  Line,
  LogRow,
  StoredAnswer,
  TierSource,
} from '../kit/index.ts'
import type { Row, Rows, Value } from './query.ts'

export function text(row: Row, column: string): string {
  return row[column] as string
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] as string | null
}

export function whole(row: Row, column: string): number {
  // PostgreSQL gives 64-bit columns as text.
  return Number(row[column])
}

export function wholeOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : Number(row[column])
}

function parsed(row: Row, column: string): unknown {
  return JSON.parse(text(row, column))
}

function words(row: Row, column: string): readonly string[] {
  return parsed(row, column) as readonly string[]
}

function wordsOrNull(row: Row, column: string): readonly string[] | null {
  return row[column] === null ? null : words(row, column)
}

export function toKey(row: Row): Key {
  return {
    id: text(row, 'id'),
    name: text(row, 'name'),
    user: text(row, 'user_name'),
    kind: text(row, 'kind') as Key['kind'],
    group: textOrNull(row, 'group_name'),
    userGroup: text(row, 'user_group'),
    userStatus: text(row, 'user_status') as Key['userStatus'],
    hint: text(row, 'hint'),
    status: text(row, 'status') as Key['status'],
    expiresAt: wholeOrNull(row, 'expires_at'),
    oldUntil: wholeOrNull(row, 'old_until'),
    models: wordsOrNull(row, 'models'),
    ips: wordsOrNull(row, 'ips'),
    limits: parsed(row, 'limits') as Limits,
    budget: wholeOrNull(row, 'budget'),
    budgetPeriod: text(row, 'budget_period') as Key['budgetPeriod'],
    spent: whole(row, 'spent'),
    spentIn: {
      day: { from: whole(row, 'day_start'), spent: whole(row, 'day_spent') },
      month: { from: whole(row, 'month_start'), spent: whole(row, 'month_spent') },
    },
    held: whole(row, 'held'),
    createdAt: whole(row, 'created_at'),
    lastUsedAt: wholeOrNull(row, 'last_used_at'),
  }
}

export function toLine(row: Row): Line {
  return {
    index: whole(row, 'idx'),
    tier: text(row, 'tier'),
    source: text(row, 'source') as TierSource,
    width: wholeOrNull(row, 'width'),
    height: wholeOrNull(row, 'height'),
    price: whole(row, 'price'),
    flags: words(row, 'flags'),
    quantity: wholeOrNull(row, 'quantity'),
  }
}

/** A row of `charge` with `refunded` added, and the rows of its lines. */
export function toCharge(row: Row, lines: Rows): Charge {
  return {
    id: text(row, 'id'),
    keyId: text(row, 'key_id'),
    user: text(row, 'user_name'),
    group: text(row, 'group_name'),
    operation: text(row, 'operation'),
    model: text(row, 'model'),
    family: text(row, 'family'),
    upstream: text(row, 'upstream'),
    configRevision: text(row, 'config_revision'),
    currency: text(row, 'currency'),
    size: textOrNull(row, 'size'),
    quality: textOrNull(row, 'quality'),
    n: whole(row, 'n'),
    rule: parsed(row, 'rule') as ChargeRule,
    state: text(row, 'state') as ChargeState,
    reason: textOrNull(row, 'reason'),
    hold: whole(row, 'hold'),
    held: isHeld(row) ? whole(row, 'hold') : 0,
    amount: whole(row, 'amount'),
    refunded: whole(row, 'refunded'),
    createdAt: whole(row, 'created_at'),
    endedAt: wholeOrNull(row, 'ended_at'),
    delivery: text(row, 'delivery') as Charge['delivery'],
    lines: lines.map(toLine),
  }
}

function isHeld(charge: Row): boolean {
  const state = text(charge, 'state')
  return state === 'reserved' || (state === 'needs_review' && whole(charge, 'kept') === 1)
}

export function toAnswer(row: Row): StoredAnswer {
  const bytes = row['body'] as Uint8Array
  return {
    status: whole(row, 'status'),
    headers: parsed(row, 'headers') as StoredAnswer['headers'],
    body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  }
}

/** The columns of `log`, in the order of `logValues`. */
export const logColumns = [
  'id',
  'time',
  'key_id',
  'user_name',
  'group_name',
  'model',
  'operation',
  'status',
  'outcome',
  'error_code',
  'duration_ms',
  'upstream',
  'config_revision',
  'forwarded',
  'dropped',
  'client_request_id',
  'input_tokens',
  'output_tokens',
] as const

/** Adds a row's values to a flat list: a list of plain values crosses to a thread at half the cost of objects. */
export function pushLogValues(row: LogRow, into: Value[]): void {
  into.push(
    row.id,
    row.time,
    row.keyId,
    row.user,
    row.group,
    row.model,
    row.operation,
    row.status,
    row.outcome,
    row.errorCode,
    Math.round(row.durationMs),
    row.upstream,
    row.configRevision,
    JSON.stringify(row.forwarded),
    JSON.stringify(row.dropped),
    row.clientRequestId,
    row.inputTokens,
    row.outputTokens,
  )
}

export function toLogRow(row: Row): LogRow {
  return {
    id: text(row, 'id'),
    time: whole(row, 'time'),
    keyId: textOrNull(row, 'key_id'),
    user: textOrNull(row, 'user_name'),
    group: textOrNull(row, 'group_name'),
    model: textOrNull(row, 'model'),
    operation: text(row, 'operation'),
    status: wholeOrNull(row, 'status'),
    outcome: text(row, 'outcome') as LogRow['outcome'],
    errorCode: textOrNull(row, 'error_code'),
    durationMs: whole(row, 'duration_ms'),
    upstream: textOrNull(row, 'upstream'),
    configRevision: text(row, 'config_revision'),
    forwarded: words(row, 'forwarded'),
    dropped: words(row, 'dropped'),
    clientRequestId: textOrNull(row, 'client_request_id'),
    inputTokens: wholeOrNull(row, 'input_tokens'),
    outputTokens: wholeOrNull(row, 'output_tokens'),
  }
}
