import type { AnswerForm } from '../response-form.ts'
import type { AnswerHead } from '../call-request.ts'
import { type Coding, unpackBegin, unpackSmall } from '../codings.ts'
import { isNothing, parseLenient, type Refusal, refusalInside } from './classify.ts'
import { mayBeError } from './may-be-error.ts'
import { soldMembers } from './outcome-table.ts'
import { isObject } from '../../util/index.ts'

/** A longer answer is no lone error. Some upstreams quote the whole request in an error. */
export const insideBytesMax = 65_536
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
export function kindOf({ status, headers }: AnswerHead): Kind | undefined {
  if (status >= 400) return 'refusal'
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
  readonly #codings: readonly Coding[]
  /** What has arrived, up to `#bytes`. It grows by doubling, because an answer may arrive byte by byte. */
  #room: Buffer = Buffer.alloc(0)
  #bytes = 0
  /** The first event with data. */
  #event: FirstEvent | undefined
  /** The end of the events before it, which have no data. */
  #eventFrom = 0

  /**
   * @param bytesMax how much of a refusal is read; `formOf`: absent if the answer has the form in its head; `codings`:
   * its encodings, although they were not requested
   */
  constructor(
    kind: Kind,
    bytesMax = insideBytesMax,
    formOf: FormOf = () => (kind === 'events' ? 'events' : 'object'),
    codings: readonly Coding[] = [],
  ) {
    this.#kind = kind
    this.#bytesMax = kind === 'refusal' ? bytesMax : insideBytesMax
    this.#formOf = formOf
    this.#codings = codings
  }

  /** @returns true if no more is needed */
  add(chunk: Buffer): boolean {
    this.#append(chunk)
    if (this.#bytes > this.#bytesMax) return true
    if (this.#kind === 'refusal') return false
    const bytes = this.#begin()
    if (!bytes) return true
    // Upstreams that fail may declare any type: the first bytes decide.
    const form = this.#formOf(bytes)
    if (form === 'events') this.#kind = 'events'
    else if (form !== undefined) this.#kind = 'json'
    if (this.#kind === 'form') return false
    if (this.#kind === 'json') return form !== undefined && !mayBeError(bytes)
    this.#readEvents(bytes)
    return this.#event !== undefined
  }

  end(): void {
    if (this.#kind !== 'events') return
    const rest = this.#begin()?.toString('utf8', this.#eventFrom)
    if (rest !== undefined) this.#event ??= firstEvent(`${rest}\n\n`)
  }

  /** Events without data are read once. */
  #readEvents(bytes: Buffer): void {
    const end = Math.max(...blankLines.map(line => bytes.lastIndexOf(line))) + 2
    if (end - 2 < this.#eventFrom) return
    this.#event = firstEvent(bytes.toString('utf8', this.#eventFrom, end))
    this.#eventFrom = end
  }

  #append(chunk: Buffer): void {
    const bytes = this.#bytes + chunk.length
    if (this.#bytes === 0) this.#room = chunk
    else if (bytes <= this.#room.length) chunk.copy(this.#room, this.#bytes)
    // The first chunk belongs to others, and has no room for more.
    else if (bytes <= this.#bytesMax) {
      const room = Buffer.alloc(2 * bytes)
      this.#room.copy(room, 0, 0, this.#bytes)
      chunk.copy(room, this.#bytes)
      this.#room = room
    }
    this.#bytes = bytes
  }

  /** Its JSON. */
  value(): unknown {
    if (this.#bytes > this.#bytesMax) return undefined
    const bytes = this.#room.subarray(0, this.#bytes)
    const plain = this.#codings.length === 0 ? bytes : unpackSmall(bytes, this.#codings, this.#bytesMax)
    return plain && parseLenient(plain)
  }

  /** The lone error in it. */
  inside(): Refusal | undefined {
    if (this.#kind === 'events') return this.#event && refusalOfEvent(this.#event)
    const bytes = this.#begin()
    // JSON that has ended is whole, even if its connection was cut.
    return bytes && mayBeError(bytes) ? refusalInside(parseLenient(bytes)) : undefined
  }

  /** What has arrived, without encodings; undefined if it cannot be decoded, or is longer than an error. */
  #begin(): Buffer | undefined {
    if (this.#bytes > this.#bytesMax) return undefined
    return unpackBegin(this.#room.subarray(0, this.#bytes), this.#codings, this.#bytesMax)
  }
}

/** The line ends between two events: LF, CR or CRLF, of which the second may be the last byte so far. */
const blankLines: readonly string[] = ['\n\n', '\r\r', '\n\r']

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
  // A byte order mark may come first.
  const events = text
    .replace(/^\ufeff/, '')
    .replaceAll(/\r\n?/g, '\n')
    .split('\n\n')
  for (const event of events.slice(0, -1)) {
    const lines = event.split('\n')
    const data = lines.flatMap(line => (line.startsWith('data:') ? line.slice(5).trimStart() : []))
    const name =
      lines
        .findLast(line => line.startsWith('event:'))
        ?.slice(6)
        .trim() ?? ''
    // Empty data keeps a connection alive.
    if (data.some(line => line !== '' || name === 'error')) return { name, data: data.join('\n') }
  }
  return undefined
}
