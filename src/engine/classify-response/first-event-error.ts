import { joined } from '../../wire/index.ts'
import type { AnswerForm } from '../response-form.ts'
import type { AnswerHead } from '../call-request.ts'
import { type Coding, unpackSmall } from '../codings.ts'
import { isNothing, parseLenient, type Refusal, refusalInside } from './classify.ts'
import { mayBeError } from './may-be-error.ts'
import { soldMembers } from './outcome-table.ts'
import { isObject } from '../../util/index.ts'

/** No lone error in an answer is longer. */
const insideBytesMax = 16_384
const isEvents = /^text\/event-stream/i
const isJson = /[/+]json/i

/**
 * The part of an answer that classifies it: all of a refusal, the first members of JSON, the first event of a stream,
 * or the first bytes of anything that shows its form.
 */
export type Kind = 'refusal' | 'json' | 'events' | 'form'

/** The form that the beginning of an answer shows; undefined if more bytes decide. */
export type FormOf = (begin: Buffer) => AnswerForm | undefined

/** Undefined if it has no readable words. */
export function kindOf({ status, headers, codings }: AnswerHead): Kind | undefined {
  if (status >= 400) return 'refusal'
  if (codings.length > 0) return undefined
  const type = headers['content-type']
  if (typeof type !== 'string') return undefined
  if (isEvents.test(type)) return 'events'
  return isJson.test(type) ? 'json' : undefined
}

/** The beginning of an answer, as much as shows whether it is an error, and which. */
export class FirstEventReader {
  #kind: Kind
  readonly #bytesMax: number
  readonly #formOf: FormOf
  readonly #chunks: Buffer[] = []
  #bytes = 0
  /** The first event with data. */
  #event: FirstEvent | undefined

  /** @param bytesMax how much of a refusal is read; `formOf`: absent if the answer has the form in its head */
  constructor(kind: Kind, bytesMax = insideBytesMax, formOf: FormOf = asDeclared) {
    this.#kind = kind
    this.#bytesMax = kind === 'refusal' ? bytesMax : insideBytesMax
    this.#formOf = formOf
  }

  /** @returns true if no more is needed */
  add(chunk: Buffer): boolean {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > this.#bytesMax) return true
    if (this.#kind === 'refusal') return false
    const bytes = joined(this.#chunks)
    if (this.#kind !== 'json' && this.#isDecided(bytes)) return true
    if (this.#kind === 'form') return false
    if (this.#kind === 'json') return !mayBeError(bytes) && this.#formOf(bytes) !== undefined
    this.#event = firstEvent(bytes.toString())
    return this.#event !== undefined
  }

  /** Whether its form needs no more bytes. JSON does: upstreams that fail may write an error of any type. */
  #isDecided(bytes: Buffer): boolean {
    const form = this.#formOf(bytes)
    if (form === 'object' || form === 'list') this.#kind = 'json'
    return form === 'other' || (this.#kind === 'form' && form !== undefined)
  }

  end(): void {
    if (this.#kind === 'events') this.#event ??= firstEvent(`${this.#text()}\n\n`)
  }

  /** Its JSON; `codings`: its encodings, although they were not requested. */
  value(codings: readonly Coding[] = []): unknown {
    if (this.#bytes > this.#bytesMax) return undefined
    if (codings.length === 0) return parseLenient(this.#text())
    const plain = unpackSmall(Buffer.concat(this.#chunks), codings, this.#bytesMax)
    return plain && parseLenient(plain)
  }

  /** The lone error in it. */
  inside(): Refusal | undefined {
    if (this.#kind === 'events') return this.#event && refusalOfEvent(this.#event)
    // JSON that has ended is whole, even if its connection was cut.
    return mayBeError(joined(this.#chunks)) ? refusalInside(this.value()) : undefined
  }

  #text(): string {
    return joined(this.#chunks).toString()
  }
}

const asDeclared: FormOf = () => 'events'

type FirstEvent = { readonly name: string; readonly data: string }

/** Its data is an error, or its name or type marks one. */
function refusalOfEvent({ name, data }: FirstEvent): Refusal | undefined {
  const value = parseLenient(data)
  const found = refusalInside(value)
  if (found) return found
  const members = isObject(value) ? value : undefined
  const type = members?.['type']
  if (name !== 'error' && type !== 'error') return undefined
  // Something was sold, whatever failed later.
  if (members && Object.entries(members).some(([member, of]) => soldMembers.has(member) && !isNothing(of)))
    return undefined
  if (members && 'error' in members) {
    // Its other members do not matter: the event is marked as an error.
    const own = refusalInside({ ...(type === 'error' && { type }), error: members['error'] })
    if (own) return own
  }
  return refusalInside({ error: members ?? { message: typeof value === 'string' ? value : data } })
}

/** The first whole event with data; undefined while there is none. */
function firstEvent(text: string): FirstEvent | undefined {
  const events = text.replaceAll(/\r\n?/g, '\n').split('\n\n')
  for (const event of events.slice(0, -1)) {
    const lines = event.split('\n')
    const data = lines.flatMap(line => (line.startsWith('data:') ? line.slice(5).trimStart() : []))
    const name = lines.findLast(line => line.startsWith('event:'))
    if (data.length > 0) return { name: name?.slice(6).trim() ?? '', data: data.join('\n') }
  }
  return undefined
}
