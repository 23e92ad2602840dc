import { type Asker, type Body, Failure, type Heard, type Random, type Told } from '../../src/kit/index.ts'
import { conditionsHold, valuesAt } from '../../src/wire/index.ts'
import type { Claim } from './answer-reader.ts'
import { composeJson } from './compose.ts'
import { httpStatus, type JobReading, type Reading } from './describe.ts'
import { gather, readError, readJson } from './error-answer.ts'
import { fail, undescribed } from './errors.ts'
import type { Answer } from './read-answer.ts'
import { Refused } from './refused.ts'
import type { StepSettings } from './schema.ts'
import { absent, fillTemplate } from './template.ts'
import { templateOf } from './shape-request.ts'

/** What an upstream has said of work that it took, by names. */
export type JobNote = { readonly [name: string]: string }

/** A request that was taken: as a job, or answered at once. */
export type Taken =
  | { readonly kind: 'job'; readonly note: JobNote }
  | { readonly kind: 'answer'; readonly heard: Heard }

/** How often an upstream that does not answer is asked once more when a job's time is over. */
const lastAsks = 3
/** Of what tells how a job stands; a result that comes with it is the whole of it. */
const standBytesMax = 64 * 1024 * 1024
const none: Body = { kind: 'none' }

/** What the first answer says: a job, or the result at once. @throws Refused, Failure upstream_answer_undescribed */
export async function readTaken(heard: Heard, about: Pick<Polling, 'reading' | 'job' | 'told'>): Promise<Taken> {
  const { reading, job } = about
  if (heard.status >= 300) throw await readError(heard, reading)
  const body = await gatherAll(heard)
  const value = readJson(body)
  const again = { ...heard, body: once(body) }
  const state = stateOf(job, heard.status, value)
  // Where the status is the state, that of the first answer says no more than that the work was taken.
  if (job.state !== httpStatus && job.done.has(state)) return { kind: 'answer', heard: again }
  if (!job.running.has(state)) throwIfFailed(about, heard.status, value)
  const id = textAt(value, job.id)
  if (id === undefined) return { kind: 'answer', heard: again }
  const note: { [name: string]: string } = { id }
  for (const [name, path] of job.keep) {
    const text = textAt(value, path)
    if (text !== undefined) note[name] = text
  }
  return { kind: 'job', note }
}

/** All of it. @throws Failure where nobody would hold so much */
async function gatherAll(heard: Heard): Promise<Buffer> {
  const body = await gather(heard, standBytesMax + 1)
  if (body.length > standBytesMax)
    throw fail('upstream_answer_unreadable', { why: 'it is longer than any that tells of a job' })
  return body
}

/** How a job is asked for. */
export type Polling = {
  readonly reading: Reading
  readonly job: JobReading
  readonly model: string
  readonly told: Told
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number
  readonly now: () => number
  readonly random: Pick<Random, 'bytes'>
  readonly claim: Claim
}

/**
 * Asks for a job until it is done. An upstream that does not answer for a while is asked again: it has the work. Its time may
 * have passed while no gateway was there, so it is asked before it is given up.
 * @returns the answer that has the result
 * @throws Refused where it has failed; Failure job_timeout, job_unreachable
 */
export async function awaitJob(asker: Asker, note: JobNote, polling: Polling): Promise<Answer> {
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
 * The answer that has the result, or why there is none yet: it is said to run, or nobody could say.
 * @throws Refused where it has failed
 */
async function askOnce(asker: Asker, note: JobNote, polling: Polling): Promise<Answer | 'running' | 'unknown'> {
  const { reading, job } = polling
  const heard = await tryStep(asker, job.poll, note, polling)
  const body = heard && (await gatherAll(heard).catch(goOn))
  if (!body) return 'unknown'
  const value = readJson(body)
  const state = stateOf(job, heard.status, value)
  if (job.done.has(state)) {
    if (!job.result) return { ...heard, body: once(body), kept: note }
    // It is over, and may have failed all the same.
    throwIfFailed(polling, heard.status, value)
    const result = await tryStep(asker, job.result, note, polling)
    return result && !isLater(result.status) ? { ...result, kept: note } : 'unknown'
  }
  if (job.running.has(state)) return 'running'
  throwIfFailed(polling, heard.status, value)
  if (isLater(heard.status)) return 'unknown'
  if (heard.status >= 400) throw await readError({ ...heard, body: once(body) }, reading)
  return 'running'
}

/** Try again later: it does not say what has become of the job. */
function isLater(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** Undefined where it could not be asked this time. */
async function tryStep(asker: Asker, step: StepSettings, note: JobNote, polling: Polling): Promise<Heard | undefined> {
  const question = toQuestion(step, note, polling)
  try {
    return await asker.ask(question)
  } catch (error) {
    return goOn(error)
  }
}

/** @throws what ends the exchange, or will not be otherwise next time */
function goOn(error: unknown): undefined {
  const isTransient =
    error instanceof Failure && error.code.startsWith('upstream_') && error.code !== 'upstream_address_refused'
  if (!isTransient) throw error
  return undefined
}

function toQuestion(step: StepSettings, note: JobNote, { model, random }: Polling): Parameters<Asker['ask']>[0] {
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

/** A reader of addresses goes up where such a name stands, to where nobody has been sent. */
const leadsAway = /(?:^|\/)\.{1,2}(?:$|\/)/

/**
 * @param asIs an address stands as it was told; names in a path are escaped, their slashes stay
 * @throws Failure upstream_answer_undescribed for a name that leads out of its path
 */
function fillText(text: string, names: JobNote, asIs = false): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(names, name) ? names[name] : undefined
    if (value === undefined) return whole
    if (asIs) return value
    if (leadsAway.test(value)) throw undescribed(`a job's ${name} that leads elsewhere`)
    return encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('%3A', ':')
  })
}

function stateOf({ state }: JobReading, status: number, value: unknown): string {
  return state === httpStatus ? String(status) : (textAt(value, state) ?? '')
}

/** @throws Refused where the state is one of those that failed, or the answer is a refusal */
function throwIfFailed(
  { reading, job, told }: Pick<Polling, 'reading' | 'job' | 'told'>,
  status: number,
  value: unknown,
): void {
  const valuesOf = (path: string): readonly string[] => valuesAt(value, path).map(textOf)
  const rule = reading.refused.find(({ conditions }) => conditionsHold(conditions, valuesOf))
  const state = stateOf(job, status, value)
  if (!rule && !job.failed.has(state)) return
  if (rule?.charge !== undefined) told.refusalPrice = rule.charge
  const paths = [...(rule?.message ?? []), ...reading.messages]
  const message =
    paths.map(path => textAt(value, path)).find(text => text !== undefined) ?? `its job ended as '${state}'`
  throw new Refused(message.slice(0, 2_000), {
    status: rule?.status ?? 422,
    code: rule?.code ?? 'job_failed',
    endsJob: true,
  })
}

function textAt(value: unknown, path: string): string | undefined {
  const [first] = valuesAt(value, path).filter(one => typeof one !== 'object')
  return first === undefined || first === '' ? undefined : textOf(first)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

async function* once(body: Buffer): AsyncGenerator<Buffer> {
  yield body
}
