import {
  type UpstreamClient,
  type Body,
  Failure,
  type UpstreamResponse,
  type Random,
  type ResponseMetadata,
} from '../../src/plugin-api/index.ts'
import { type AnswerValues, conditionsHold, type MemoryClaim } from '../../src/wire/index.ts'
import { composeJson } from './compose.ts'
import { httpStatus, type JobReading, type Reading } from './describe.ts'
import { readError } from './error-answer.ts'
import { fail, undescribed } from './errors.ts'
import { type HeldAnswer, holdAnswer } from './held-answer.ts'
import type { Answer } from './read-answer.ts'
import { Refused } from './refused.ts'
import type { StepSettings } from './schema.ts'
import { absent, fillTemplate } from './template.ts'
import { templateOf } from './shape-request.ts'

/** Values of an upstream's answer about accepted work, by names. */
export type JobNote = { readonly [name: string]: string }

/** An accepted request: as a job, or answered at once. */
export type Taken =
  | { readonly kind: 'job'; readonly note: JobNote }
  | { readonly kind: 'answer'; readonly response: UpstreamResponse }

/** How many more times an upstream that does not answer is polled when a job's time is over. */
const lastAsks = 3
/** The maximum length of an answer about a job whose result is elsewhere: error messages are never longer. */
const errorBytesMax = 64 * 1024
const none: Body = { kind: 'none' }

/** Reads the first response: a job, or the result at once. @throws Refused, Failure upstream_answer_undescribed */
export async function readTaken(
  response: UpstreamResponse,
  about: Pick<Polling, 'reading' | 'job' | 'metadata' | 'claim'>,
): Promise<Taken> {
  if (response.status >= 300) throw await readError(response, about.reading)
  const { values, body } = await holdAnswer(response, about)
  const note = readNote(response.status, { values, body }, about)
  if (!note) return { kind: 'answer', response: { ...response, body } }
  body.drop()
  return { kind: 'job', note }
}

/** Undefined if the answer is the result. @throws Refused */
function readNote(
  status: number,
  { values, body }: HeldAnswer,
  about: Pick<Polling, 'reading' | 'job' | 'metadata'>,
): JobNote | undefined {
  const { job } = about
  const state = stateOf(job, status, values)
  // If the status is the state, the first response only reports that the work was accepted.
  if (job.state !== httpStatus && job.done.has(state)) return undefined
  const failed = job.running.has(state) ? undefined : failureOf(about, status, values)
  if (failed) {
    body.drop()
    throw failed
  }
  const id = values.first([job.id])
  if (id === undefined) return undefined
  const note: { [name: string]: string } = { id }
  for (const [name, path] of job.keep) {
    const text = values.first([path])
    if (text !== undefined) note[name] = text
  }
  return note
}

/** How to poll a job. */
export type Polling = {
  readonly reading: Reading
  readonly job: JobReading
  readonly model: string
  readonly metadata: ResponseMetadata
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number
  readonly now: () => number
  readonly random: Pick<Random, 'bytes'>
  readonly claim: MemoryClaim
}

/**
 * Polls a job until it is done. Polls again if the upstream does not answer for a while, because it has the work. The
 * deadline may have passed while no gateway was running, so the job is polled before it is given up.
 * @returns the answer with the result
 * @throws Refused if it has failed; Failure job_timeout, job_unreachable
 */
export async function awaitJob(asker: UpstreamClient, note: JobNote, polling: Polling): Promise<Answer> {
  const { job, deadlineAt, now } = polling
  for (let asksLeft = lastAsks; asksLeft > 0; ) {
    await asker.sleep(job.everyMs)
    const isOver = now() >= deadlineAt
    const stand = await askOnce(asker, note, polling)
    if (typeof stand === 'object') return stand
    if (isOver && stand === 'running') throw fail('job_timeout', { id: note['id'] ?? '' })
    if (isOver) asksLeft--
  }
  throw fail('job_unreachable', { id: note['id'] ?? '' })
}

/**
 * The answer with the result, or why there is none yet: the job is running, or its state is not known.
 * @throws Refused if it has failed
 */
async function askOnce(
  asker: UpstreamClient,
  note: JobNote,
  polling: Polling,
): Promise<Answer | 'running' | 'unknown'> {
  const { reading, job } = polling
  const response = await tryStep(asker, job.poll, note, polling)
  const kept = job.result ? { keptBytesMax: errorBytesMax } : {}
  const held = response && (await holdAnswer(response, { ...polling, ...kept }).catch(goOn))
  if (!held) return 'unknown'
  const { values, body } = held
  const stand = standOf(polling, response.status, values)
  if (stand === 'done' && !job.result) return { ...response, body, kept: note }
  try {
    if (stand instanceof Refused) throw stand
    if (stand === 'error') throw await readError({ ...response, body }, reading)
    return stand === 'done' ? await askForResult(asker, note, polling) : stand
  } finally {
    body.drop()
  }
}

/** The state of a job. */
function standOf(
  polling: Polling,
  status: number,
  values: AnswerValues,
): Refused | 'done' | 'running' | 'unknown' | 'error' {
  const { job } = polling
  const state = stateOf(job, status, values)
  if (job.running.has(state)) return 'running'
  const isDone = job.done.has(state)
  // The result itself is more precise; a job with its result elsewhere may have failed all the same.
  const failure = isDone && !job.result ? undefined : failureOf(polling, status, values)
  if (failure) return failure
  if (isDone) return 'done'
  if (isLater(status)) return 'unknown'
  return status >= 400 ? 'error' : 'running'
}

async function askForResult(asker: UpstreamClient, note: JobNote, polling: Polling): Promise<Answer | 'unknown'> {
  const { result } = polling.job
  const response = result && (await tryStep(asker, result, note, polling))
  return response && !isLater(response.status) ? { ...response, kept: note } : 'unknown'
}

/** Whether to retry later: the status does not report the job's state. */
function isLater(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** Undefined if this poll failed. */
async function tryStep(
  asker: UpstreamClient,
  step: StepSettings,
  note: JobNote,
  polling: Polling,
): Promise<UpstreamResponse | undefined> {
  const request = toRequest(step, note, polling)
  try {
    return await asker.ask(request)
  } catch (error) {
    return goOn(error)
  }
}

/** @throws errors that end the exchange, or that a retry will not change */
function goOn(error: unknown): undefined {
  const isTransient =
    error instanceof Failure && error.code.startsWith('upstream_') && error.code !== 'upstream_address_refused'
  if (!isTransient) throw error
  return undefined
}

function toRequest(
  step: StepSettings,
  note: JobNote,
  { model, random }: Polling,
): Parameters<UpstreamClient['ask']>[0] {
  const names = { ...note, model }
  const { path, url, method, hosts, with_credential: withCredential, headers, body } = step
  const filled = body === undefined ? absent : fillNames(body, names)
  return {
    method: method ?? 'GET',
    ...(path !== undefined && { path: fillText(path, names) }),
    ...(url !== undefined && { url: fillText(url, names, true) }),
    ...(hosts !== undefined && { hosts }),
    ...(withCredential && { withCredential }),
    ...(headers !== undefined && { headers }),
    body: filled === absent ? none : composeJson(filled, random),
  }
}

function fillNames(body: object, names: JobNote): unknown {
  return fillTemplate(templateOf(body), {
    valueOf: ref => names[ref] ?? absent,
    turnsOf: () => undefined,
    isOptional: () => false,
  })
}

/** URL parsers resolve such a name to a parent path, which was never intended. */
const leadsAway = /(?:^|\/)\.{1,2}(?:$|\/)/

/**
 * @param asIs an address stays as it was reported; names in a path are escaped, except their slashes
 * @throws Failure upstream_answer_undescribed for a name that leads out of its path
 */
function fillText(text: string, names: JobNote, asIs = false): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(names, name) ? names[name] : undefined
    if (value === undefined) return whole
    if (asIs) return value
    if (leadsAway.test(value)) throw undescribed(`a job's ${name} with a URL of another host`)
    return encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('%3A', ':')
  })
}

function stateOf({ state }: JobReading, status: number, values: AnswerValues): string {
  return state === httpStatus ? String(status) : (values.first([state]) ?? '')
}

/** Why there is no result, if the state is a failed one, or the answer is a refusal. */
function failureOf(
  { reading, job, metadata }: Pick<Polling, 'reading' | 'job' | 'metadata'>,
  status: number,
  values: AnswerValues,
): Refused | undefined {
  const rule = reading.refused.find(({ conditions }) => conditionsHold(conditions, values.of))
  const state = stateOf(job, status, values)
  if (!rule && !job.failed.has(state)) return undefined
  if (rule?.charge !== undefined) metadata.refusalPrice = rule.charge
  const message = values.first([...(rule?.message ?? []), ...reading.messages]) ?? `its job ended as '${state}'`
  return new Refused(message.slice(0, 2_000), {
    status: rule?.status ?? 422,
    code: rule?.code ?? 'job_failed',
    endsJob: true,
  })
}
