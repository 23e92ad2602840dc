import type { Heard, Told } from '../../src/kit/index.ts'
import { conditionsHold } from '../../src/wire/index.ts'
import { AnswerReader, type Claim } from './answer-reader.ts'
import { isHeader, type Reading } from './describe.ts'
import { add, multiply } from './decimal.ts'
import { readError } from './error-answer.ts'
import { undescribed } from './errors.ts'
import { EventReader } from './event-reader.ts'
import type { LinkToFollow } from './follow-link.ts'
import type { PictureWriter } from './picture-writer.ts'
import { readBytes } from './read-bytes.ts'
import { Refused } from './refused.ts'
import { Values } from './values.ts'

/** Where an answer says that it is an error, whatever its status. */
const errorMembers = ['error', 'errors'] as const

/** What the answers of one request have said together. */
export type Sums = { readonly usage: Map<string, number> }

export type Reader = {
  readonly reading: Reading
  readonly writer: PictureWriter
  readonly told: Told
  readonly sums: Sums
  readonly claim: Claim
  /** Other answers than this one are parts of what the caller is answered. */
  readonly isOneOfSeveral: boolean
  readonly follow: (link: LinkToFollow) => AsyncGenerator<Buffer>
}

/** An answer, with what the one has said that took the work, where there was one. */
export type Answer = Heard & { readonly kept?: { readonly [name: string]: string } }

/**
 * One answer of the upstream as the writer writes it, while it passes.
 * @throws Refused where it says no, or nothing that is a picture; Failure where it cannot be read
 */
export async function* readAnswer(heard: Answer, reader: Reader): AsyncGenerator<Buffer> {
  const { reading, writer } = reader
  if (heard.status >= 300) throw await readError(heard, reading)
  // Nobody has asked for a part.
  if (heard.status === 206) throw unrecognised('a part of an answer (206)')
  const values = new Values()
  values.addHead(heard.status, heard.headers)
  values.addKept(heard.kept)
  tellFacts(reader, values, isHeader)
  const refusal = refusalOf(reader, values)
  if (refusal && reading.places.some(place => place.bytes)) throw refusal
  const before = writer.count
  let rest: Rest
  try {
    rest = yield* passOn(heard, reader, values)
  } catch (error) {
    const come = writer.count - before
    if (come > 0) tell(reader, values, come)
    throw error
  }
  const found = writer.count - before
  tell(reader, values, found)
  if (found > 0) return
  throw whyNothing(reader, values, rest)
}

type Rest = { readonly failed: readonly string[]; readonly shape: string }

async function* passOn(heard: Heard, reader: Reader, values: Values): AsyncGenerator<Buffer, Rest> {
  const { reading, writer, claim } = reader
  const type = heard.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type.startsWith('image/') || type === 'application/octet-stream') {
    if (!reading.places.some(place => place.bytes)) throw unrecognised(`content-type ${type}`)
    for await (const _ of readBytes(heard, writer)) yield* written(reader)
    yield* written(reader)
    return { failed: [], shape: type }
  }
  const source = type === 'text/event-stream' ? new EventReader(reading, writer, claim, values) : undefined
  const answer = source ?? new AnswerReader(reading, writer, claim)
  let isEmpty = true
  for await (const chunk of heard.body) {
    isEmpty &&= chunk.length === 0
    try {
      answer.write(chunk)
    } catch (error) {
      // What came before it in the same packet has come all the same.
      yield* written(reader)
      throw error
    }
    yield* written(reader)
  }
  if (isEmpty) throw unrecognised('an empty answer')
  answer.end()
  if (answer instanceof AnswerReader)
    for (const path of reading.wanted) for (const value of answer.values.of(path)) values.add(path, value)
  yield* written(reader)
  return { failed: answer.failed, shape: answer.shape }
}

/** What has been written so far, links followed. */
async function* written({ writer, follow }: Reader): AsyncGenerator<Buffer> {
  for (const one of writer.take()) {
    if (Buffer.isBuffer(one)) yield one
    else yield* follow(one)
  }
}

function unrecognised(shape: string): Error {
  return undescribed(shape.slice(0, 120))
}

/** The answer had no picture: it is a refusal, or none that is known. */
function whyNothing(reader: Reader, values: Values, { failed, shape }: Rest): Error {
  const refusal = refusalOf(reader, values)
  if (refusal) return refusal
  const [first] = failed
  if (first !== undefined) return new Refused(first, { status: 400, code: 'content_refused' })
  const error = errorOf(reader, values)
  if (error) return error
  return unrecognised(`no picture; ${shape}`)
}

/** An answer of status 200 whose `error` says that it is none. */
function errorOf({ reading }: Reader, values: Values): Refused | undefined {
  if (errorMembers.every(path => values.of(path).length === 0)) return undefined
  const message = values.first(reading.messages) ?? 'it answered with an error, and does not say which'
  return new Refused(message.slice(0, 2_000), { status: 502, code: values.first(reading.codes) ?? null })
}

function refusalOf({ reading, told }: Reader, values: Values): Refused | undefined {
  const rule = reading.refused.find(({ conditions }) => conditionsHold(conditions, values.of))
  if (!rule) return undefined
  if (rule.charge !== undefined) told.refusalPrice = rule.charge
  const message = values.first([...rule.message, ...reading.messages]) ?? 'it made no picture, and does not say why'
  return new Refused(message.slice(0, 2_000), { status: rule.status, code: rule.code })
}

/** @param found so many pictures were in the answer */
function tell(reader: Reader, values: Values, found: number): void {
  const { reading, told, sums } = reader
  tellFacts(reader, values, () => true)
  if (reader.isOneOfSeveral && reading.facts.length > 0) tellFactsAt(reader, values, found)
  if (reading.count !== undefined) told.count = (told.count ?? 0) + countOf(values.last(reading.count), found)
  const cost = reading.cost && costOf(reading.cost, values)
  if (cost !== undefined) told.cost = told.cost === undefined ? cost : add(told.cost, cost)
  for (const [name, path] of reading.usage) {
    const used = Number(values.last(path))
    if (Number.isSafeInteger(used)) sums.usage.set(name, (sums.usage.get(name) ?? 0) + used)
  }
}

function tellFactsAt({ reading, told, writer }: Reader, values: Values, found: number): void {
  const own = new Map<string, string>()
  for (const [name, path] of reading.facts) {
    const value = values.last(path)
    if (value !== undefined) own.set(name, value)
  }
  for (let i = writer.count - found; i < writer.count; i++) told.factsAt.set(i, own)
}

/** An answer that counts none of what is in it has not counted. */
function countOf(text: string | undefined, found: number): number {
  const count = text === undefined ? 0 : Number(text)
  return Number.isSafeInteger(count) && count > 0 ? count : found
}

function costOf({ path, unit }: NonNullable<Reading['cost']>, values: Values): string | undefined {
  const said = values.last(path)
  return said === undefined ? undefined : multiply(said, unit)
}

function tellFacts({ reading, told }: Reader, values: Values, which: (path: string) => boolean): void {
  for (const [name, path] of reading.facts) {
    const value = which(path) ? values.last(path) : undefined
    if (value !== undefined) told.facts.set(name, value)
  }
}
