import {
  type UpstreamClient,
  type CallUpstream,
  Failure,
  type JobCourse,
  type PluginResponse,
} from '../../src/plugin-api/index.ts'
import { refusal } from './call-upstream.ts'
import { awaitJob, type JobNote, type Polling, readTaken, type Taken } from './job.ts'
import type { Answer } from './read-answer.ts'
import { Refused } from './refused.ts'

export type Ask = (asker: UpstreamClient) => Promise<Answer>

/** The inputs of an exchange with an upstream that answers with jobs. */
export type JobTerms = {
  readonly course: JobCourse
  /** Each request submits work to the upstream. */
  readonly asks: readonly Ask[]
  readonly atOnce: number
  readonly polling: Polling
  /** If the client does not wait: its answer when all work was accepted. */
  readonly accepted: PluginResponse | undefined
  /** Stores the accepted work. @throws errors of the storage */
  readonly open: (jobs: readonly JobNote[], isDetached: boolean) => Promise<void>
  readonly onNotWritten: (error: unknown) => void
  /** Combines the answers into one. */
  readonly finish: (asks: readonly Ask[]) => CallUpstream
}

/**
 * Submits work to an upstream, stores that it was accepted, and waits for it; or resumes work that another exchange has
 * begun.
 */
export function createJobCall(terms: JobTerms): CallUpstream {
  const { course, polling, finish, accepted } = terms
  return async asker => {
    if (course.resumed) return finish(course.resumed.told.map(note => one => awaitJob(one, note, polling)))(asker)
    const taken = await takeAll(asker, terms)
    if (taken instanceof Refused) return refusal(taken)
    const notes = taken.flatMap(one => (one.kind === 'job' ? [one.note] : []))
    if (notes.length > 0) {
      const isDetached = accepted !== undefined && notes.length === taken.length
      await write(terms, notes, isDetached)
      if (isDetached && course.isOpen) {
        course.handedOver = true
        return accepted
      }
    }
    return finish(taken.toSorted(jobsFirst).map(one => askFor(one, polling)))(asker)
  }
}

/** The process that resumes the jobs has only those: each of their pictures must have the same position as here. */
function jobsFirst(a: Taken, b: Taken): number {
  return Number(a.kind !== 'job') - Number(b.kind !== 'job')
}

function askFor(taken: Taken, polling: Polling): Ask {
  return taken.kind === 'answer' ? () => Promise.resolve(taken.response) : asker => awaitJob(asker, taken.note, polling)
}

/** Work that cannot be stored is waited for all the same, because the upstream does it. */
async function write(
  { open, course, onNotWritten }: JobTerms,
  notes: readonly JobNote[],
  isDetached: boolean,
): Promise<void> {
  try {
    await open(notes, isDetached)
    course.isOpen = true
  } catch (error) {
    course.isInDoubt = true
    onNotWritten(error)
  }
}

/** The accepted work of all requests; the refusal if there is none. @throws the first failure if none was accepted */
async function takeAll(
  asker: UpstreamClient,
  { asks, atOnce, polling }: JobTerms,
): Promise<readonly Taken[] | Refused> {
  const taken: Taken[] = []
  let failure: unknown
  for (let from = 0; from < asks.length; from += atOnce) {
    const wave = asks.slice(from, from + atOnce).map(async ask => readTaken(await ask(asker), polling))
    for (const one of await Promise.allSettled(wave)) {
      if (one.status === 'fulfilled') taken.push(one.value)
      else failure ??= one.reason
    }
    if (failure instanceof Refused && failure.isFinal) break
  }
  if (taken.length > 0 || failure === undefined) return taken
  if (failure instanceof Refused) return failure
  throw failure
}

/** Whether the end of an upstream request does not show the outcome of its job, which continues. */
export function goesOn(error: unknown): boolean {
  if (!(error instanceof Failure)) return false
  return error.code === 'drain_deadline' || error.code === 'job_unreachable' || isTransient(error)
}

function isTransient({ code }: Failure): boolean {
  return code.startsWith('upstream_') && !code.startsWith('upstream_answer_un') && code !== 'upstream_refused'
}
