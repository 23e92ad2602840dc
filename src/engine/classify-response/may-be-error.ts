import { skipBlanks } from '../../wire/index.ts'
import { membersNextToErrors } from './outcome-table.ts'

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const listOpens = 0x5b
const listCloses = 0x5d
const objectOpens = 0x7b
const objectCloses = 0x7d
/** `+-.` */
const signs: readonly number[] = [0x2b, 0x2d, 0x2e]
const none = -1

const known: readonly Buffer[] = [...membersNextToErrors].map(name => Buffer.from(name))
const nothing = Buffer.from('null')

/**
 * Whether the beginning of an answer, also of the first item of a list, may belong to a lone error: so far it has only
 * what errors may have next to them. Every answer is checked, so this reads its bytes without parsing.
 */
export function mayBeError(json: Buffer): boolean {
  let at = skipBlanks(json)
  if (json[at] === listOpens) at = skipSpace(json, at + 1)
  if (at === json.length) return true
  if (json[at] !== objectOpens) return false
  for (let isFirst = true; at !== none; isFirst = false) {
    const name = skipSpace(json, at + 1)
    if (name === json.length) return true
    if (json[name] !== quote) return !isFirst
    const behind = skipText(json, name)
    const value = behind === none ? json.length : skipSpace(json, behind)
    if (value === json.length) return true
    if (json[value] !== colon) return !isFirst
    const isNextToError = mayBeNextToError(json, name + 1, behind - 1)
    at = isNextToError ? skipPlain(json, skipSpace(json, value + 1)) : skipNothing(json, skipSpace(json, value + 1))
    if (!isNextToError && at === none) return false
  }
  return true
}

/** Whether a name, without its quotes, is one of those; with escapes it may be. */
function mayBeNextToError(json: Buffer, from: number, to: number): boolean {
  for (let i = 0; i < known.length; i++) {
    const name = known[i] as Buffer
    if (name.length === to - from && isThere(json, from, name)) return true
  }
  for (let i = from; i < to; i++) if (json[i] === backslash) return true
  return false
}

function isThere(json: Buffer, from: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (json[from + i] !== text[i]) return false
  return true
}

function skipSpace(json: Buffer, from: number): number {
  let at = from
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x0d || json[at] === 0x09) at++
  return at
}

/** From its first quote to after its last; undefined if that has not arrived. */
function skipText(json: Buffer, from: number): number {
  for (let at = from + 1; at < json.length; at++) {
    if (json[at] === quote) return at + 1
    if (json[at] === backslash) at++
  }
  return none
}

/** From a value without parts to the comma after it; undefined if it is no such value, or its end has not arrived. */
function skipPlain(json: Buffer, from: number): number {
  if (json[from] === quote) return commaAt(json, skipText(json, from))
  let at = from
  while (isOfWord(json[at] ?? 0)) at++
  return at === from ? none : commaAt(json, at)
}

/** Like `skipPlain`, for an empty value: other members may be empty next to an answer's error. */
function skipNothing(json: Buffer, from: number): number {
  const first = json[from]
  if (first === quote) return json[from + 1] === quote ? commaAt(json, from + 2) : none
  if (isThere(json, from, nothing)) return commaAt(json, from + nothing.length)
  const last = first === listOpens ? listCloses : objectCloses
  if (first !== listOpens && first !== objectOpens) return none
  const end = skipSpace(json, from + 1)
  return json[end] === last ? commaAt(json, end + 1) : none
}

function commaAt(json: Buffer, from: number): number {
  if (from === none) return none
  const at = skipSpace(json, from)
  return json[at] === comma ? at : none
}

/** Of a number, or of `true`, `false` and `null`. */
function isOfWord(byte: number): boolean {
  const letter = byte | 0x20
  return (byte >= 0x30 && byte <= 0x39) || (letter >= 0x61 && letter <= 0x7a) || signs.includes(byte)
}
