import { isUtf8 } from 'node:buffer'
import type { Json, JsonObjectView } from '../kit/index.ts'
import { fail } from './errors.ts'
import { parseJson } from './parse-json.ts'
import { createShift, cutOut, type Drops, findCuts } from './prune.ts'

/** Deepest nesting accepted in a request body. */
export const depthMax = 64
/** Most brackets, colons and commas accepted in a request body: a bound on what any parser behind us must build. */
export const structuralTokensMax = 200_000

/** One top-level member: its decoded name and where it stands, `"name":value`, in the bytes. */
type Member = { readonly name: string; readonly start: number; readonly valueStart: number; readonly end: number }

const quote = 0x22
const backslash = 0x5c
const longString = 128
/** Anything but what may stand in a string unescaped, bytes read as Latin-1: control characters and the backslash. */
const unusual = /[^\x20-\x5b\x5d-\xff]/

/**
 * Finds the top-level members of a JSON object without parsing their values. The whole text is validated as RFC 8259
 * and JSON.parse would, but strings are skipped by native searches, so that megabytes cost a millisecond or two.
 * @throws Failure invalid_json, duplicate_field, body_too_complex
 */
export function scanObject(bytes: Buffer): JsonObjectView {
  return new ScannedObject(bytes, new Scan(bytes).members())
}

class ScannedObject implements JsonObjectView {
  readonly bytes: Buffer
  readonly #members: readonly Member[]
  readonly #parsed = new Map<string, Json>()

  constructor(bytes: Buffer, members: readonly Member[]) {
    this.bytes = bytes
    this.#members = members
  }

  names(): readonly string[] {
    return this.#members.map(member => member.name)
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined
  }

  get(name: string): Json | undefined {
    const known = this.#parsed.get(name)
    if (known !== undefined) return known
    const member = this.#find(name)
    if (!member) return undefined
    const value = parseJson(this.bytes.toString('utf8', member.valueStart, member.end))
    this.#parsed.set(name, value)
    return value
  }

  with(changes: ReadonlyMap<string, Json | undefined>): JsonObjectView {
    const writer = new ObjectWriter()
    const added = new Set(changes.keys())
    for (const member of this.#members) {
      added.delete(member.name)
      if (!changes.has(member.name)) {
        writer.copy(this.bytes, member)
        continue
      }
      const value = changes.get(member.name)
      if (value !== undefined) writer.add(member.name, value)
    }
    for (const name of added) {
      const value = changes.get(name)
      if (value !== undefined) writer.add(name, value)
    }
    return writer.finish()
  }

  pick(keep: (name: string) => boolean): JsonObjectView {
    if (this.#members.every(member => keep(member.name))) return this
    const writer = new ObjectWriter()
    for (const member of this.#members) if (keep(member.name)) writer.copy(this.bytes, member)
    return writer.finish()
  }

  prune(drops: Drops): JsonObjectView {
    const cuts = findCuts(this.bytes, drops)
    if (cuts.length === 0) return this
    const shift = createShift(cuts)
    const members: Member[] = []
    for (const { name, start, valueStart, end } of this.#members) {
      const member = { name, start: shift(start), valueStart: shift(valueStart), end: shift(end) }
      if (member.end > member.start) members.push(member)
    }
    return new ScannedObject(cutOut(this.bytes, cuts), members)
  }

  #find(name: string): Member | undefined {
    for (const member of this.#members) if (member.name === name) return member
    return undefined
  }
}

class ObjectWriter {
  readonly #pieces: Buffer[] = [Buffer.from('{')]
  readonly #members: Member[] = []
  #length = 1

  copy(from: Buffer, member: Member): void {
    this.#separate()
    const at = this.#length
    this.#push(from.subarray(member.start, member.end))
    this.#members.push({
      name: member.name,
      start: at,
      valueStart: at + member.valueStart - member.start,
      end: this.#length,
    })
  }

  add(name: string, value: Json): void {
    this.#separate()
    const start = this.#length
    this.#push(Buffer.from(`${JSON.stringify(name)}:`))
    const valueStart = this.#length
    this.#push(Buffer.from(JSON.stringify(value)))
    this.#members.push({ name, start, valueStart, end: this.#length })
  }

  finish(): JsonObjectView {
    this.#push(Buffer.from('}'))
    return new ScannedObject(Buffer.concat(this.#pieces, this.#length), this.#members)
  }

  #separate(): void {
    if (this.#members.length > 0) this.#push(Buffer.from(','))
  }

  #push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#length += piece.length
  }
}

/** One pass over a text. Depth is kept in a bit stack of bytes, never in the call stack. */
class Scan {
  readonly #bytes: Buffer
  readonly #kinds = new Uint8Array(depthMax)
  #at = 0
  #depth = 0
  #tokens = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    if (!isUtf8(bytes)) throw fail('invalid_json', { why: 'not UTF-8', at: 0 })
  }

  members(): readonly Member[] {
    const members: Member[] = []
    const names = new Set<string>()
    this.#blank()
    if (this.#bytes[this.#at] !== 0x7b) throw this.#wrong('an object has to begin with {')
    this.#open(1)
    this.#blank()
    if (this.#bytes[this.#at] === 0x7d) this.#at++
    else
      for (;;) {
        this.#blank()
        const start = this.#at
        const name = this.#name()
        if (names.has(name)) throw fail('duplicate_field', { name: name.slice(0, 64) }, { param: name.slice(0, 64) })
        names.add(name)
        this.#blank()
        this.#expect(0x3a, 'a colon')
        this.#blank()
        const valueStart = this.#at
        this.#value()
        members.push({ name, start, valueStart, end: this.#at })
        this.#blank()
        if (this.#bytes[this.#at] === 0x2c) this.#token()
        else {
          this.#expect(0x7d, 'a comma or }')
          break
        }
      }
    this.#blank()
    if (this.#at < this.#bytes.length) throw this.#wrong('more follows after the object')
    return members
  }

  /** Skips one value of any depth, iteratively. */
  #value(): void {
    const base = this.#depth
    for (;;) {
      this.#blank()
      const byte = this.#bytes[this.#at]
      if (byte === 0x7b || byte === 0x5b) {
        this.#open(byte === 0x7b ? 1 : 0)
        this.#blank()
        const close = byte === 0x7b ? 0x7d : 0x5d
        if (this.#bytes[this.#at] !== close) {
          if (byte === 0x7b) this.#key()
          continue
        }
        this.#close()
      } else if (byte === quote) this.#string()
      else if (byte === 0x74) this.#word('true')
      else if (byte === 0x66) this.#word('false')
      else if (byte === 0x6e) this.#word('null')
      else this.#number()
      // A value has ended: close what ends with it, or go on to the next member.
      for (;;) {
        if (this.#depth === base) return
        this.#blank()
        const next = this.#bytes[this.#at]
        const inObject = this.#kinds[this.#depth - 1] === 1
        if (next === 0x2c) {
          this.#token()
          if (inObject) this.#key()
          break
        }
        if (next !== (inObject ? 0x7d : 0x5d))
          throw this.#wrong(inObject ? 'a comma or } is missing' : 'a comma or ] is missing')
        this.#close()
      }
    }
  }

  #key(): void {
    this.#blank()
    if (this.#bytes[this.#at] !== quote) throw this.#wrong('a member has to begin with its name in quotes')
    this.#string()
    this.#blank()
    this.#expect(0x3a, 'a colon')
  }

  #name(): string {
    if (this.#bytes[this.#at] !== quote) throw this.#wrong('a member has to begin with its name in quotes')
    const start = this.#at
    const escaped = this.#string()
    return escaped
      ? (JSON.parse(this.#bytes.toString('utf8', start, this.#at)) as string)
      : this.#bytes.toString('utf8', start + 1, this.#at - 1)
  }

  /** Skips a string; true when it holds escapes. */
  #string(): boolean {
    const bytes = this.#bytes
    const start = this.#at
    let escaped = false
    let at = start + 1
    for (;;) {
      const end = bytes.indexOf(quote, at)
      if (end < 0) throw this.#wrong('a string does not end')
      // Short stretches byte by byte; long ones (pictures, documents) by a native search for anything unusual.
      if (end - at > longString) {
        const stop = findUnusual(bytes, at, end)
        if (stop < 0) at = end
        else at = stop
      }
      while (at < end && bytes[at] !== backslash) {
        if ((bytes[at] as number) < 0x20) {
          this.#at = at
          throw this.#wrong('a control character stands unescaped in a string')
        }
        at++
      }
      if (at === end) {
        this.#at = end + 1
        return escaped
      }
      escaped = true
      at = this.#escape(at)
    }
  }

  /** Checks one escape; returns the place after it. */
  #escape(at: number): number {
    const kind = this.#bytes[at + 1]
    if (kind === 0x75) {
      for (let i = at + 2; i < at + 6; i++) {
        if (!isHex(this.#bytes[i])) {
          this.#at = at
          throw this.#wrong('an escape is malformed')
        }
      }
      return at + 6
    }
    if (kind === undefined || !escapable.has(kind)) {
      this.#at = at
      throw this.#wrong('an escape is malformed')
    }
    return at + 2
  }

  #number(): void {
    const bytes = this.#bytes
    let at = this.#at
    if (bytes[at] === 0x2d) at++
    const whole = digits(bytes, at)
    if (whole === at || (bytes[at] === 0x30 && whole > at + 1)) throw this.#wrong('a value is missing or malformed')
    at = whole
    if (bytes[at] === 0x2e) {
      const end = digits(bytes, at + 1)
      if (end === at + 1) throw this.#wrong('a number is malformed')
      at = end
    }
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at++
      if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++
      const end = digits(bytes, at)
      if (end === at) throw this.#wrong('a number is malformed')
      at = end
    }
    this.#at = at
  }

  #word(word: string): void {
    for (let i = 0; i < word.length; i++)
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i)) throw this.#wrong('a value is missing or malformed')
    this.#at += word.length
  }

  #open(kind: 0 | 1): void {
    if (this.#depth === depthMax) throw fail('body_too_complex', { what: 'deeper nesting', max: `${depthMax} levels` })
    this.#kinds[this.#depth++] = kind
    this.#token()
  }

  #close(): void {
    this.#depth--
    this.#at++
  }

  #expect(byte: number, what: string): void {
    if (this.#bytes[this.#at] !== byte) throw this.#wrong(`${what} is missing`)
    this.#token()
  }

  #token(): void {
    this.#at++
    if (++this.#tokens > structuralTokensMax)
      throw fail('body_too_complex', {
        what: 'too many members',
        max: `${structuralTokensMax} brackets, colons and commas`,
      })
  }

  #blank(): void {
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return
      this.#at++
    }
  }

  #wrong(why: string): Error {
    return fail('invalid_json', { why: this.#at >= this.#bytes.length ? 'it ends too early' : why, at: this.#at })
  }
}

const escapable = new Set(Buffer.from('"\\/bfnrt'))

function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
}

function digits(bytes: Buffer, from: number): number {
  let at = from
  while ((bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39) at++
  return at
}

/** The first backslash or control character in `[from, to)`, or −1; in pieces, so that no large copy is made. */
function findUnusual(bytes: Buffer, from: number, to: number): number {
  const piece = 1 << 18
  for (let at = from; at < to; at += piece) {
    const found = bytes.toString('latin1', at, Math.min(at + piece, to)).search(unusual)
    if (found >= 0) return at + found
  }
  return -1
}
