import { mergeParts } from '../accounts/merge-parts.ts'
import { mainPart } from '../accounts/levels.ts'
import { sweepSessions } from '../live-sessions.ts'
import { sweepJobs } from '../jobs.ts'
import { ask, type QueryProgram } from '../query.ts'
import { sweepObjects } from '../stored-objects.ts'
import type { WriterIdentity } from '../writer-identity.ts'

/** Answers in one commit: each may have several megabytes. */
const answersTogether = 32

/**
 * Deletes expired answers, jobs, objects, sessions and setup links, and merges the separate rows of ended processes.
 * @returns whether more may be left: one commit deletes few rows with content, because other writes wait for it
 */
export function* sweep(identity: Pick<WriterIdentity, 'part' | 'zone'>, at: number): QueryProgram<boolean> {
  yield ask('DELETE FROM session WHERE expires_at <= ?', at)
  yield ask('DELETE FROM setup WHERE expires_at <= ?', at)
  yield* sweepSessions()
  // The search reads all accounts. If this process books on the main rows, no process adds other rows.
  if (identity.part !== mainPart) yield* mergeParts(identity, at)
  const isMore = [yield* sweepAnswers(at), yield* sweepJobs(at), yield* sweepObjects(at)]
  return isMore.includes(true)
}

function* sweepAnswers(at: number): QueryProgram<boolean> {
  const swept = yield ask(
    `DELETE FROM answer WHERE charge_id IN (SELECT charge_id FROM answer WHERE expires_at <= ? LIMIT ${answersTogether})
       RETURNING charge_id`,
    at,
  )
  return swept.length === answersTogether
}
