import { type Coding, unpackSmall } from '../codings.ts'
import { besideErrors, soldMembers } from './outcomes.ts'
import { isNothing, parseLoosely, type Refusal, refusalInside } from './judge.ts'

/** An error that stands alone in an answer is no longer. */
const insideBytesMax = 16_384
const glanceBytes = 256
/** Where the members begin of an object, or of the first one in a list. */
const opening = /^\s*(?:\[\s*)?\{/
const memberName = /\s*"((?:[^"\\]|\\.){1,64})"\s*:/y
/** A value without parts, and the comma behind it. */
const plainValue = /\s*(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)\s*,/y
/** What may become one. */
const beginning = /^\s*(?:\[\s*)?(?:\{\s*(?:"[^"]{0,64}"?\s*)?)?$/

/** What an answer begins with: as much of it as shows whether it is an error, and which. */
export class FirstWords {
  readonly #kind: 'refusal' | 'json' | 'events'
  readonly #bytesMax: number
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #isWhole = false
  /** The first event that says something. */
  #event: FirstEvent | undefined

  constructor(kind: 'refusal' | 'json' | 'events', bytesMax: number) {
    this.#kind = kind
    this.#bytesMax = kind === 'refusal' ? bytesMax : insideBytesMax
  }

  /** @returns true when no more is needed */
  add(chunk: Buffer): boolean {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > this.#bytesMax) return true
    if (this.#kind === 'refusal') return false
    // Most answers say what they are in their first few members.
    if (this.#kind === 'json' && chunk.length === this.#bytes && !mayBeError(chunk.toString('latin1', 0, glanceBytes)))
      return true
    const text = this.#text()
    if (this.#kind === 'json') return !mayBeError(text)
    this.#event = firstEvent(text)
    return this.#event !== undefined
  }

  end(): void {
    this.#isWhole = true
    if (this.#kind === 'events') this.#event ??= firstEvent(`${this.#text()}\n\n`)
  }

  /** Its JSON; `codings`: what it came in, though nobody asked for that. */
  value(codings: readonly Coding[] = []): unknown {
    if (this.#bytes > this.#bytesMax) return undefined
    if (codings.length === 0) return parseLoosely(this.#text())
    const plain = unpackSmall(Buffer.concat(this.#chunks), codings, this.#bytesMax)
    return plain && parseLoosely(plain)
  }

  /** The error that stands in it alone. */
  inside(): Refusal | undefined {
    if (this.#kind === 'events') return this.#event && refusalOfEvent(this.#event)
    return this.#isWhole ? refusalInside(this.value()) : undefined
  }

  #text(): string {
    return Buffer.concat(this.#chunks).toString()
  }
}

/** As far as it goes there is nothing in it that does not stand beside errors. */
function mayBeError(text: string): boolean {
  let at = opening.exec(text)?.[0].length ?? 0
  if (at === 0) return beginning.test(text)
  for (let isFirst = true; ; isFirst = false) {
    memberName.lastIndex = at
    const found = memberName.exec(text)
    if (!found) return isFirst ? beginning.test(text) : true
    if (!besideErrors.has(found[1] as string)) return false
    plainValue.lastIndex = memberName.lastIndex
    if (!plainValue.test(text)) return true
    at = plainValue.lastIndex
  }
}

type FirstEvent = { readonly name: string; readonly data: string }

/** Its data is an error, or its name or type says that it is one. */
function refusalOfEvent({ name, data }: FirstEvent): Refusal | undefined {
  const value = parseLoosely(data)
  const found = refusalInside(value)
  if (found) return found
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const type = isObject && 'type' in value ? value.type : undefined
  if (name !== 'error' && type !== 'error') return undefined
  // Something was sold, whatever failed then.
  if (isObject && Object.entries(value).some(([member, of]) => soldMembers.has(member) && !isNothing(of)))
    return undefined
  if (isObject && 'error' in value) {
    // What else stands beside it is of no account: the event says what it is.
    const own = refusalInside({ ...(type === 'error' && { type }), error: value.error })
    if (own) return own
  }
  return refusalInside({ error: isObject ? value : { message: typeof value === 'string' ? value : data } })
}

/** The first whole event that has data; undefined while there is none. */
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
