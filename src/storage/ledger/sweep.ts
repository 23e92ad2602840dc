import { foldParts } from '../accounts/fold.ts'
import { sweepSessions } from '../live-sessions.ts'
import { sweepJobs } from '../jobs.ts'
import { ask, type QueryProgram } from '../query.ts'
import { sweepObjects } from '../stored-objects.ts'
import type { WriterIdentity } from '../writer-identity.ts'

/** Deletes expired answers, sessions and setup links, and merges the separate rows of ended processes. */
export function* sweep(identity: Pick<WriterIdentity, 'zone'>, at: number): QueryProgram<null> {
  yield ask('DELETE FROM answer WHERE expires_at <= ?', at)
  yield ask('DELETE FROM session WHERE expires_at <= ?', at)
  yield ask('DELETE FROM setup WHERE expires_at <= ?', at)
  yield* sweepJobs(at)
  yield* sweepObjects(at)
  yield* sweepSessions()
  yield* foldParts(identity, at)
  return null
}
