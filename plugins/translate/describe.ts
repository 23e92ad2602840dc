import { parseDuration } from '../../src/plugin-api/index.ts'
import {
  type AnswerReading,
  compileConditions,
  compilePlace,
  type Condition,
  joinPath,
  normalPath,
  type Path,
  type ReadingFaults,
  type StreamReading,
  toPaths,
} from '../../src/wire/index.ts'
import { fail, undescribed } from './errors.ts'
import { Refused } from './refused.ts'
import type { JobSettings, PlaceSettings, Section, StepSettings, TranslateFacet } from './schema.ts'

export type Refusal = {
  readonly conditions: readonly Condition[]
  readonly message: readonly Path[]
  readonly code: string
  readonly status: number
  readonly charge: string | undefined
}

export type JobReading = {
  readonly id: Path
  readonly keep: readonly (readonly [name: string, path: Path])[]
  readonly poll: StepSettings
  readonly result: StepSettings | undefined
  readonly state: Path
  readonly running: ReadonlySet<string>
  readonly done: ReadonlySet<string>
  readonly failed: ReadonlySet<string>
  readonly everyMs: number
  readonly withinMs: number
}

export type Named = readonly (readonly [name: string, path: Path])[]

/** How answers of one operation are read, computed once. */
export type Reading = AnswerReading & {
  readonly facts: Named
  readonly count: Path | undefined
  readonly cost: { readonly path: Path; readonly unit: string } | undefined
  readonly usage: Named
  readonly refused: readonly Refusal[]
  readonly codes: readonly Path[]
  readonly job: JobReading | undefined
  /** Prices depend on the whole response: it is held until its end. */
  readonly waits: boolean
}

const faults: ReadingFaults = {
  unreadable: (why, cause) => fail('upstream_answer_unreadable', { why }, { cause }),
  undescribed,
  busy: () => fail('upstream_busy'),
  refused: (message, code) => new Refused(message, { status: 502, code }),
}

/** The usual places of error messages in vendors' answers. */
const messages = ['error.message', 'message', 'error', 'detail', 'detail.msg', 'errors', 'msg'] as const
const codes = ['error.code', 'code', 'error.type', 'type'] as const

const usual: PlaceSettings = { at: 'data', picture: ['b64_json', 'url'], text: { revised_prompt: 'revised_prompt' } }

/** Facts of a response about its images, under the names that SDKs read. */
export const wordsOfAnswer = ['size', 'quality', 'background', 'output_format'] as const

/** The section for one operation. */
export function sectionOf(facet: TranslateFacet, operation: string): Section {
  const { per_operation: own, ...all } = facet
  return { ...all, ...own?.[operation] }
}

const readings = new WeakMap<TranslateFacet, Map<string, Reading>>()

export function readingOf(facet: TranslateFacet, operation: string): Reading {
  let known = readings.get(facet)
  if (!known) readings.set(facet, (known = new Map<string, Reading>()))
  let reading = known.get(operation)
  if (!reading) known.set(operation, (reading = describe(sectionOf(facet, operation))))
  return reading
}

/** @returns how the answers that a section describes are read */
export function describe(section: Section): Reading {
  const settings = section.answer === undefined ? [usual] : ([section.answer].flat() as readonly PlaceSettings[])
  const places = settings.map(compilePlace)
  const refused = (section.refused ?? []).map(one => ({
    conditions: compileConditions(one.if, normalPath),
    message: toPaths(one.message),
    code: one.code,
    status: one.status,
    charge: one.charge,
  }))
  const facts = namedPaths(section.facts)
  const usage = namedPaths(section.usage)
  const { count, cost, job } = section
  const stream = section.stream && compileStream(section.stream)
  const own = {
    messages: [...toPaths(section.errors?.message), ...messages],
    codes: [...toPaths(section.errors?.code), ...codes],
  }
  const parts = {
    places,
    facts,
    count,
    cost: cost && { path: cost.at, unit: cost.unit },
    usage,
    refused,
    ...own,
    stream,
    faults,
    job: job && compileJob(job),
    waits: facts.some(([, path]) => !isHeader(path)) || count !== undefined,
  }
  return { ...parts, wanted: new Set(pathsOf(parts)) }
}

/** The status of an answer, as a path. */
export const httpStatus = 'http_status'

/** The prefix of paths to values that are kept of a job's first answer. */
export const keptBefore = 'job.'

/** A path of the answer's head or of a value kept before it, which is known before its first byte. */
export function isHeader(path: Path): boolean {
  return path.startsWith('header.') || path.startsWith(keptBefore) || path === httpStatus
}

function compileStream(own: NonNullable<Section['stream']>): StreamReading {
  if (own.each === 'answer') return { kind: 'answers' }
  return {
    kind: 'events',
    type: own.type ?? 'type',
    roles: new Map(Object.entries(own.events ?? {})),
    place: compilePlace({
      at: own.at ?? '.',
      picture: own.picture ?? ['b64_json', 'url'],
      ...(own.size !== undefined && { size: own.size }),
    }),
    error: own.error,
    index: own.index,
  }
}

function compileJob(own: JobSettings): JobReading {
  const wordsOf = (words: unknown): ReadonlySet<string> => new Set([words ?? []].flat().map(String))
  return {
    id: own.id,
    keep: namedPaths(own.keep),
    poll: own.poll,
    result: own.result,
    state: own.state,
    running: wordsOf(own.running),
    done: wordsOf(own.done),
    failed: wordsOf(own.failed),
    everyMs: parseDuration(own.every) ?? 0,
    withinMs: parseDuration(own.within) ?? 0,
  }
}

function namedPaths(own: { readonly [name: string]: unknown } | undefined): Named {
  return Object.entries(own ?? {}).map(([name, path]) => [name, normalPath(path as string)])
}

function* pathsOf(parts: Omit<Reading, 'wanted'>): Generator<Path> {
  const { places, facts, usage, count, cost, refused, stream, job } = parts
  const event = stream?.kind === 'events' ? [stream.place] : []
  for (const place of [...places, ...event]) {
    yield* place.size
    for (const { path } of [...place.skip, ...place.keep]) yield path
    if (place.error !== undefined) {
      yield place.error
      yield joinPath(place.error, 'message')
      yield joinPath(place.error, 'code')
    }
    for (const [, path] of place.texts) yield path
  }
  for (const [, path] of [...facts, ...usage]) yield path
  if (count !== undefined) yield count
  if (cost) yield cost.path
  for (const { conditions, message } of refused) {
    for (const { path } of conditions) yield path
    yield* message
  }
  yield* parts.messages
  yield* parts.codes
  yield* wordsOfAnswer
  if (stream?.kind === 'events') {
    yield stream.type
    if (stream.error !== undefined) yield stream.error
    if (stream.index !== undefined) yield stream.index
  }
  if (!job) return
  yield job.id
  yield job.state
  for (const [, path] of job.keep) yield path
}
