import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Declared, declarationRules, type Json, type JsonObjectView, nothingDeclared } from '../domain/index.ts'
import type { Awaitable } from '../util/index.ts'
import {
  createShift,
  cutOut,
  DeclaredReader,
  type Drops,
  findCuts,
  type Member,
  ObjectScan,
  parseJson,
  type TextRefusals,
} from '../wire/index.ts'
import { fail } from './errors.ts'

/** Read at once: what may take half a millisecond on a slow machine. Longer texts are read in slices of it. */
const turnBytes = 262_144
/** The most brackets, colons and commas of a bounded field: each of a million small objects costs a microsecond. */
const readTokensMax = 50_000
/** Above this number members are looked up by name. */
const listedMax = 16

/** Errors of a request's body, for the client. */
export const bodyRefusals: TextRefusals = {
  malformed: (why, at) => fail('invalid_json', { why, at }),
  doubled: name => fail('duplicate_field', { name: name.slice(0, 64) }, { param: name.slice(0, 64) }),
  tooComplex: (what, max) => fail('body_too_complex', { what, max }),
}

/**
 * Finds the top-level members of a JSON object without parsing their values. The whole text is validated as RFC 8259
 * and JSON.parse would, in time linear in its length.
 * @throws Failure invalid_json, duplicate_field, body_too_complex
 */
export function scanObject(bytes: Buffer): JsonObjectView {
  const { scan, view } = openScan(bytes)
  scan.read(bytes.length)
  return view()
}

function openScan(bytes: Buffer) {
  const reader = new DeclaredReader(declarationRules, tooMuchDeclared)
  const scan = new ObjectScan(bytes, bodyRefusals, reader)
  return { scan, view: () => new ScannedObject(scan.members, reader.result(nothingDeclared), bytes) }
}

function tooMuchDeclared(): Error {
  return bodyRefusals.tooComplex('more tools and models', '4096')
}

/**
 * The same for a text of any length: a long one is read in slices, each in its own turn of the event loop.
 * @param work runs each slice outside the caller's own turn, to measure turns
 */
export function scanObjectInTurns(bytes: Buffer, work: (slice: () => boolean) => boolean): Awaitable<JsonObjectView> {
  return bytes.length <= turnBytes ? scanObject(bytes) : scanSlices(bytes, work)
}

async function scanSlices(bytes: Buffer, work: (slice: () => boolean) => boolean): Promise<JsonObjectView> {
  const { scan, view } = openScan(bytes)
  const slice = (): boolean => scan.read(turnBytes)
  while (!work(slice)) await nextTurn()
  await nextTurn()
  return view()
}

/** Members in their original buffers; the text of a changed object is written on the first read. */
class ScannedObject implements JsonObjectView {
  readonly #members: readonly Member[]
  readonly #parsed = new Map<string, Json>()
  #byName: Map<string, Member> | undefined
  #bytes: Buffer | undefined

  readonly declared: Declared

  constructor(members: readonly Member[], declared: Declared, bytes?: Buffer) {
    this.#members = members
    this.declared = declared
    this.#bytes = bytes
  }

  get bytes(): Buffer {
    this.#bytes ??= writeObject(this.#members)
    return this.#bytes
  }

  names(): readonly string[] {
    return this.#members.map(member => member.name)
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined
  }

  get(name: string, bytesMax = Number.POSITIVE_INFINITY): Json | undefined {
    const known = this.#parsed.get(name)
    if (known !== undefined) return known
    const member = this.#find(name)
    if (!member) return undefined
    const found = member.end - member.valueStart
    if (found > bytesMax)
      throw fail('field_too_long', { name: name.slice(0, 64), found, max: bytesMax }, { param: name.slice(0, 64) })
    if (member.tokens > readTokensMax && bytesMax < Number.POSITIVE_INFINITY)
      throw fail('body_too_complex', tooManyTokens(name), { param: name })
    const value = parseJson(member.text.toString('utf8', member.valueStart, member.end))
    this.#parsed.set(name, value)
    return value
  }

  elements(name: string): number | undefined {
    return this.#find(name)?.elements
  }

  raw(name: string): Buffer | undefined {
    const member = this.#find(name)
    return member?.text.subarray(member.valueStart, member.end)
  }

  with(changes: ReadonlyMap<string, Json | undefined>): JsonObjectView {
    const members: Member[] = []
    const added = new Set(changes.keys())
    for (const member of this.#members) {
      added.delete(member.name)
      if (!changes.has(member.name)) {
        members.push(member)
        continue
      }
      const value = changes.get(member.name)
      if (value !== undefined) members.push(writeMember(member.name, value))
    }
    for (const name of added) {
      const value = changes.get(name)
      if (value !== undefined) members.push(writeMember(name, value))
    }
    return new ScannedObject(
      members,
      this.#declaredIn(name => !changes.has(name)),
    )
  }

  pick(keep: (name: string) => boolean): JsonObjectView {
    const kept = this.#members.filter(member => keep(member.name))
    return kept.length === this.#members.length ? this : new ScannedObject(kept, this.#declaredIn(keep))
  }

  #declaredIn(keep: (name: string) => boolean): Declared {
    const { declared } = this
    if (declared === nothingDeclared) return declared
    return {
      tools: declared.tools.filter(({ field }) => keep(field)),
      models: declared.models.filter(({ path }) => keep(String(path[0]))),
    }
  }

  prune(drops: Drops): JsonObjectView {
    const cuts = findCuts(this.bytes, drops)
    if (cuts.length === 0) return this
    const text = cutOut(this.bytes, cuts)
    const shift = createShift(cuts)
    const members: Member[] = []
    for (const { start, valueStart, end, ...rest } of this.#placed()) {
      const member = { ...rest, text, start: shift(start), valueStart: shift(valueStart), end: shift(end) }
      if (member.end > member.start) members.push(member)
    }
    return new ScannedObject(members, this.declared, text)
  }

  /** The members in this object's own text. */
  #placed(): readonly Member[] {
    const text = this.bytes
    if (this.#members.every(member => member.text === text)) return this.#members
    let next = 1
    return this.#members.map(member => {
      const start = next
      const end = start + member.end - member.start
      next = end + 1
      return { ...member, text, start, valueStart: start + member.valueStart - member.start, end }
    })
  }

  #find(name: string): Member | undefined {
    const members = this.#members
    if (members.length > listedMax) {
      this.#byName ??= new Map(members.map(member => [member.name, member]))
      return this.#byName.get(name)
    }
    // Called for many names of every body.
    for (let i = 0; i < members.length; i++) if ((members[i] as Member).name === name) return members[i]
    return undefined
  }
}

function tooManyTokens(name: string) {
  return {
    what: `more in its field '${name.slice(0, 64)}', which is read here`,
    max: `${readTokensMax} brackets, colons and commas`,
  }
}

function writeMember(name: string, value: Json): Member {
  const before = `${JSON.stringify(name)}:`
  const text = Buffer.from(before + JSON.stringify(value))
  const elements = Array.isArray(value) ? value.length : undefined
  return { name, text, start: 0, valueStart: Buffer.byteLength(before), end: text.length, tokens: 0, elements }
}

/** The members in one text, without blanks between them: each byte is copied once, however many changes there were. */
function writeObject(members: readonly Member[]): Buffer {
  let length = Math.max(2, members.length + 1)
  for (const { start, end } of members) length += end - start
  const bytes = Buffer.allocUnsafe(length)
  bytes[0] = 0x7b
  let at = 1
  for (const { text, start, end } of members) {
    if (at > 1) bytes[at++] = 0x2c
    at += text.copy(bytes, at, start, end)
  }
  bytes[at] = 0x7d
  return bytes
}
