import type { Job, JobState, NewJob, StoredAnswer } from '../domain/index.ts'
import { ask, type QueryProgram, type Row } from './query.ts'
import { text, textOrNull, toAnswer, whole, wholeOrNull } from './rows.ts'
import type { WriterIdentity } from './writer-identity.ts'

/** The time for which the result of a job can be requested. */
const keptMs = 24 * 3_600_000
/** Jobs that one commit deletes: the answer of each may have several megabytes. */
const sweptTogether = 32
/** The maximum number of jobs in one statement: a statement must not occupy the writer for long. */
export const jobsTogether = 1_000

export type JobEnd = {
  readonly id: string
  readonly state: Exclude<JobState, 'running'>
  readonly answer: StoredAnswer | null
  readonly at: number
}

export function* openJob(
  { owner, epoch }: WriterIdentity,
  { job, at }: { readonly job: NewJob; readonly at: number },
): QueryProgram<null> {
  yield ask(
    `INSERT INTO job (id, key_id, operation, model, upstream, vendor_key, n, told, state, owner, epoch, created_at,
       deadline_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?)`,
    job.id,
    job.keyId,
    job.operation,
    job.model,
    job.upstream,
    job.vendorKey ?? null,
    job.n,
    JSON.stringify(job.told),
    owner,
    epoch,
    at,
    job.deadlineAt,
  )
  return null
}

/**
 * Ends a job. @returns false if the job had ended before, or belongs to another process by now, because the owner of
 * the charge ends the job
 */
export function* endJob({ owner, epoch }: WriterIdentity, { id, state, answer, at }: JobEnd): QueryProgram<boolean> {
  const rows = yield ask(
    `UPDATE job SET state = ?, ended_at = ?, status = ?, headers = ?, body = ? WHERE id = ? AND state = 'running'
       AND owner = ? AND epoch = ? RETURNING id`,
    state,
    at,
    answer?.status ?? null,
    answer ? JSON.stringify(answer.headers) : null,
    answer?.body ?? null,
    id,
    owner,
    epoch,
  )
  return rows.length > 0
}

export function* findJob(id: string): QueryProgram<Job | undefined> {
  const [row] = yield ask('SELECT * FROM job WHERE id = ?', id)
  return row && toJob(row)
}

export function* countOpenJobs(keyId: string): QueryProgram<number> {
  const [row] = yield ask(`SELECT count(*) AS count FROM job WHERE key_id = ? AND state = 'running'`, keyId)
  return row ? whole(row, 'count') : 0
}

/** Running jobs of this process after the one with this id, at most `jobsTogether`. */
export function* ownJobs(
  { owner, epoch }: Pick<WriterIdentity, 'owner' | 'epoch'>,
  after: string,
): QueryProgram<readonly Job[]> {
  const rows = yield ask(
    `SELECT * FROM job WHERE owner = ? AND epoch = ? AND state = 'running' AND id > ? ORDER BY id LIMIT ${jobsTogether}`,
    owner,
    epoch,
    after,
  )
  return rows.map(toJob)
}

/** Takes over jobs of ended processes, with their charges. */
export function* adoptJobs({ owner, epoch }: WriterIdentity): QueryProgram<number> {
  const jobs = yield ask(
    `UPDATE job SET owner = ?, epoch = ? WHERE state = 'running' AND NOT EXISTS
       (SELECT 1 FROM replica WHERE replica.owner = job.owner AND replica.epoch = job.epoch) RETURNING id`,
    owner,
    epoch,
  )
  for (const job of jobs)
    yield ask(
      `UPDATE charge SET owner = ?, epoch = ? WHERE id = ? AND state = 'reserved'`,
      owner,
      epoch,
      text(job, 'id'),
    )
  return jobs.length
}

/** Deletes some expired jobs, with their answers. @returns whether more may be left */
export function* sweepJobs(at: number): QueryProgram<boolean> {
  const swept = yield ask(
    `DELETE FROM job WHERE id IN
       (SELECT id FROM job WHERE ended_at IS NOT NULL AND ended_at <= ? LIMIT ${sweptTogether}) RETURNING id`,
    at - keptMs,
  )
  return swept.length === sweptTogether
}

function toJob(row: Row): Job {
  return {
    id: text(row, 'id'),
    keyId: text(row, 'key_id'),
    operation: text(row, 'operation'),
    model: text(row, 'model'),
    upstream: text(row, 'upstream'),
    vendorKey: textOrNull(row, 'vendor_key'),
    n: whole(row, 'n'),
    told: JSON.parse(text(row, 'told')) as Job['told'],
    state: text(row, 'state') as JobState,
    createdAt: whole(row, 'created_at'),
    deadlineAt: whole(row, 'deadline_at'),
    endedAt: wholeOrNull(row, 'ended_at'),
    answer: row['body'] === null ? null : toAnswer(row),
  }
}
