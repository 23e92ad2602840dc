import { sweepJobs } from '../jobs.ts'
import { ask, type QueryProgram } from '../query.ts'

/** Forgets answers, sessions and setup links that are out of date. */
export function* sweep(at: number): QueryProgram<null> {
  yield ask('DELETE FROM answer WHERE expires_at <= ?', at)
  yield ask('DELETE FROM session WHERE expires_at <= ?', at)
  yield ask('DELETE FROM setup WHERE expires_at <= ?', at)
  yield* sweepJobs(at)
  return null
}
