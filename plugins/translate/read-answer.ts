import type { UpstreamResponse, ResponseMetadata } from '../../src/plugin-api/index.ts'
import {
  AnswerReader,
  AnswerValues,
  conditionsHold,
  EventReader,
  type LinkToFollow,
  type MemoryClaim,
  type PictureWriter,
  skipBlanks,
} from '../../src/wire/index.ts'
import { isHeader, keptBefore, type Reading, wordsOfAnswer } from './describe.ts'
import { add, multiply } from './decimal.ts'
import { readError } from './error-answer.ts'
import { undescribed } from './errors.ts'
import { TurnBudget } from './turn-budget.ts'
import { readBytes } from './read-bytes.ts'
import { Refused } from './refused.ts'

/** A value such as `1024x1024`, `high`, `png`, as opposed to a text of a vendor. */
const aWord = /^[\w.:-]{1,40}$/
/** The place where a response reports an error, whatever its status. */
const errorMembers = ['error', 'errors'] as const

/** The sums over the answers of one request. */
export type Sums = { readonly usage: Map<string, number>; readonly words: Map<string, string> }

export type Reader = {
  readonly reading: Reading
  readonly writer: PictureWriter
  readonly metadata: ResponseMetadata
  readonly sums: Sums
  readonly claim: MemoryClaim
  /** The answer is one of several that form the client's answer. */
  readonly isOneOfSeveral: boolean
  readonly follow: (link: LinkToFollow) => AsyncGenerator<Buffer>
}

/** An answer, with the values that are kept of the answer that accepted the work, if there was one. */
export type Answer = UpstreamResponse & { readonly kept?: { readonly [name: string]: string } }

/**
 * One answer of the upstream in the writer's format, as it passes.
 * @throws Refused for a refusal, or a response without a picture; Failure if it cannot be read
 */
export async function* readAnswer(response: Answer, reader: Reader): AsyncGenerator<Buffer> {
  const { reading, writer } = reader
  if (response.status >= 300) throw await readError(response, reading)
  // No partial response was requested.
  if (response.status === 206) throw unrecognised('a partial response (206)')
  const values = new AnswerValues()
  values.addHead(response.status, response.headers)
  values.addKept(keptBefore, response.kept)
  recordFacts(reader, values, isHeader)
  const refusal = refusalOf(reader, values)
  if (refusal && reading.places.some(place => place.bytes)) throw refusal
  const before = writer.count
  let rest: Rest
  try {
    rest = yield* passOn(response, reader, values)
  } catch (error) {
    const come = writer.count - before
    if (come > 0) recordAnswer(reader, values, come)
    yield* written(reader)
    throw error
  }
  const found = writer.count - before
  recordAnswer(reader, values, found)
  yield* written(reader)
  if (found > 0) return
  throw whyNothing(reader, values, rest)
}

type Rest = { readonly failed: readonly string[]; readonly shape: string; readonly omitted?: string | undefined }

async function* passOn(response: UpstreamResponse, reader: Reader, values: AnswerValues): AsyncGenerator<Buffer, Rest> {
  const { reading, writer, claim } = reader
  const type = response.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type.startsWith('image/') || type === 'application/octet-stream') {
    if (!reading.places.some(place => place.bytes)) throw unrecognised(`content-type ${type}`)
    for await (const _ of readBytes(response, writer)) yield* written(reader)
    yield* written(reader)
    return { failed: [], shape: type }
  }
  const source = type === 'text/event-stream' ? new EventReader(reading, writer, claim, values) : undefined
  const answer = source ?? new AnswerReader(reading, writer, claim)
  let isEmpty = true
  const turnBudget = new TurnBudget()
  for await (const chunk of response.body) {
    isEmpty &&= skipBlanks(chunk) === chunk.length
    for (const piece of turnBudget.split(chunk)) {
      try {
        answer.write(piece)
      } catch (error) {
        // Pictures before the error in the same packet are still valid.
        yield* written(reader)
        throw error
      }
      yield* written(reader)
      const turn = turnBudget.took(answer.seen)
      if (turn) await turn
    }
  }
  try {
    if (isEmpty) throw unrecognised('an empty answer')
    answer.end()
  } catch (error) {
    if (!isPart(reader))
      reader.metadata.foreign = isEmpty ? Buffer.alloc(0) : answer instanceof AnswerReader ? answer.foreign : undefined
    throw error
  }
  reader.metadata.omitted ??= answer.omitted
  if (answer instanceof AnswerReader)
    for (const path of reading.wanted) for (const value of answer.values.of(path)) values.add(path, value)
  yield* written(reader)
  return { failed: answer.failed, shape: answer.shape, omitted: answer.omitted }
}

/** The output so far, with links followed. */
async function* written({ writer, follow }: Reader): AsyncGenerator<Buffer> {
  for (const one of writer.take()) {
    if (Buffer.isBuffer(one)) yield one
    else yield* follow(one)
  }
}

/** Whether another answer may have created a picture, or has reported one. */
function isPart({ reading, isOneOfSeveral }: Reader): boolean {
  return isOneOfSeveral || reading.job !== undefined
}

function unrecognised(shape: string): Error {
  return undescribed(shape.slice(0, 120))
}

/** The answer had no picture: it is a refusal, or has no known form. */
function whyNothing(reader: Reader, values: AnswerValues, { failed, shape, omitted }: Rest): Error {
  // The omitted value may have been the picture.
  if (omitted !== undefined) return unrecognised(omitted)
  const refusal = refusalOf(reader, values)
  if (refusal) return refusal
  const [first] = failed
  if (first !== undefined) return new Refused(first, { status: 400, code: 'content_refused' })
  const error = errorOf(reader, values)
  if (error) return error
  return unrecognised(`no picture; ${shape}`)
}

/** A response of status 200 with an `error`. */
function errorOf({ reading }: Reader, values: AnswerValues): Refused | undefined {
  if (errorMembers.every(path => values.of(path).length === 0)) return undefined
  const message = values.first(reading.messages) ?? 'it returned an error without details'
  return new Refused(message.slice(0, 2_000), { status: 502, code: values.first(reading.codes) ?? null })
}

function refusalOf({ reading, metadata }: Reader, values: AnswerValues): Refused | undefined {
  const rule = reading.refused.find(({ conditions }) => conditionsHold(conditions, values.of))
  if (!rule) return undefined
  if (rule.charge !== undefined) metadata.refusalPrice = rule.charge
  const message = values.first([...rule.message, ...reading.messages]) ?? 'it returned no image and no reason'
  return new Refused(message.slice(0, 2_000), { status: rule.status, code: rule.code })
}

/** @param found the number of pictures in the answer */
function recordAnswer(reader: Reader, values: AnswerValues, found: number): void {
  const { reading, metadata, sums, writer } = reader
  recordFacts(reader, values, () => true)
  if (reader.isOneOfSeveral && reading.facts.length > 0) recordFactsAt(reader, values, found)
  if (reading.count !== undefined) metadata.count = (metadata.count ?? 0) + countOf(values.last(reading.count), found)
  const cost = reading.cost && costOf(reading.cost, values)
  if (cost !== undefined) metadata.cost = metadata.cost === undefined ? cost : add(metadata.cost, cost)
  const usage: { [name: string]: number } = {}
  for (const [name, path] of reading.usage) {
    const used = Number(values.last(path))
    if (!Number.isSafeInteger(used)) continue
    usage[name] = used
    sums.usage.set(name, (sums.usage.get(name) ?? 0) + used)
  }
  const words = new Map<string, string>()
  for (const name of wordsOfAnswer) {
    const word = values.last(name)
    if (word !== undefined && aWord.test(word)) words.set(name, word)
  }
  for (const [name, word] of words) sums.words.set(name, word)
  if (!writer.isOpen) writer.settle({ usage: Object.keys(usage).length > 0 ? usage : undefined, words })
}

function recordFactsAt({ reading, metadata, writer }: Reader, values: AnswerValues, found: number): void {
  const own = new Map<string, string>()
  for (const [name, path] of reading.facts) {
    const value = values.last(path)
    if (value !== undefined) own.set(name, value)
  }
  for (let i = writer.count - found; i < writer.count; i++) metadata.factsAt.set(i, own)
}

/** The reported count; if an answer with pictures reports none, or 0, the number of pictures found. */
function countOf(text: string | undefined, found: number): number {
  const count = text === undefined ? 0 : Number(text)
  return Number.isSafeInteger(count) && count > 0 ? count : found
}

function costOf({ path, unit }: NonNullable<Reading['cost']>, values: AnswerValues): string | undefined {
  const reported = values.last(path)
  return reported === undefined ? undefined : multiply(reported, unit)
}

function recordFacts({ reading, metadata }: Reader, values: AnswerValues, which: (path: string) => boolean): void {
  for (const [name, path] of reading.facts) {
    const value = which(path) ? values.last(path) : undefined
    if (value !== undefined) metadata.facts.set(name, value)
  }
}
