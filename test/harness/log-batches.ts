import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { kindOfRow, type LogRow } from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { draftLogBatch } from '../../src/storage/log-batches/draft.ts'
import type { UncompactedBatches } from '../../src/storage/log-batches/uncompacted.ts'
import { writeLogs } from '../../src/storage/log-batches/write.ts'
import type { QueryProgram, Rows } from '../../src/storage/query.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'

export const noon = Date.UTC(2026, 10, 22, 12)
export const minute = 60_000

export function makeFile(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'tollgate.db')
}

/** A new database with the current tables. */
export function open(t: Test): Connection {
  const connection = new Connection(makeFile(t))
  for (const statement of migrations.flat()) connection.db.exec(statement)
  t.teardown(() => connection.close())
  return connection
}

let made = 0
const noMarks = { received: null, asked: null, askedAgain: null, firstByte: null, lastByte: null, committed: null }

export function rowAt(ms: number, i: number, changes: Partial<LogRow> = {}): LogRow {
  const row: LogRow = {
    id: firstIdAt('req_', ms) + String(made++).padStart(10, '0'),
    time: ms,
    keyId: `key_${i % 7}`,
    user: i % 7 > 3 ? 'ada' : 'local',
    group: 'default',
    model: ['m1', 'm2', null][i % 3] ?? null,
    operation: 'chat',
    status: [200, 200, 429, 502, null][i % 5] ?? null,
    outcome: i % 5 < 2 ? 'answered' : i % 5 < 4 ? 'refused' : 'caller_gone',
    errorCode: i % 5 < 2 ? null : 'x',
    durationMs: (i * 37) % 20_000,
    upstream: i % 2 ? 'one' : null,
    configRevision: '0123456789ab',
    forwarded: ['model', 'messages'],
    dropped: i % 4 ? [] : ['user'],
    clientRequestId: i % 6 ? null : `own "${i}"\u0000 😀`,
    inputTokens: i % 3 ? i : null,
    outputTokens: i % 3 ? 2 * i : null,
    marks: i % 4 ? { ...noMarks, received: 1, asked: 2, firstByte: i % 50 } : null,
    errorValues: i % 5 === 2 ? { limit: 'user_rpm', max: i, of: null } : null,
    upstreamSaid: i % 5 === 3 ? `busy "${i}"` : null,
    attempts:
      i % 5 === 4
        ? [
            { upstream: 'one', key: null, answer: '503', ms: i },
            { upstream: 'two', key: 'k', answer: '200', ms: 2 },
          ]
        : null,
    ...changes,
  }
  // Lookups have no tokens.
  return kindOfRow(row) === 'lookup' ? { ...row, inputTokens: null, outputTokens: null } : row
}

/** Writes rows in batches, as the queue would. */
export function write(
  connection: Connection,
  rows: readonly LogRow[],
  together: number,
  uncompacted: UncompactedBatches,
): void {
  for (let at = 0; at < rows.length; at += together)
    connection.transact(() =>
      connection.run(writeLogs(uncompacted, { batch: draftLogBatch(rows.slice(at, at + together)), again: false })),
    )
}

export const count = (connection: Connection, sql: string): number =>
  Number(connection.all({ sql, params: [] })[0]?.['n'])

/** Runs a program, and returns the result of each statement. */
export function watch<T>(
  connection: Connection,
  steps: QueryProgram<T>,
): { readonly value: T; readonly given: readonly Rows[] } {
  const given: Rows[] = []
  let next = steps.next()
  while (next.done !== true) {
    const rows = connection.all(next.value)
    given.push(rows)
    next = steps.next(rows)
  }
  return { value: next.value, given }
}

/** A row in the format of an older gateway. */
export const insertOld = (
  row: LogRow,
): string => `INSERT INTO log (id, time, key_id, user_name, group_name, model, operation, status,
  outcome, error_code, duration_ms, upstream, config_revision, forwarded, dropped, client_request_id, input_tokens, output_tokens)
  VALUES (${[
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
    row.durationMs,
    row.upstream,
    row.configRevision,
    JSON.stringify(row.forwarded),
    JSON.stringify(row.dropped),
    row.clientRequestId,
    row.inputTokens,
    row.outputTokens,
  ]
    .map(value => (value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${value}'`))
    .join(', ')})`
