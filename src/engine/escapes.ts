const backslash = 0x5c
const percent = 0x25
const ampersand = 0x26
const hash = 0x23
const semicolon = 0x3b
const lineFeed = 0x0a
const carriageReturn = 0x0d
const dash = 0x2d
const underscore = 0x5f
const plus = 0x2b
const slash = 0x2f

/** Texts are escaped in one another: JSON in JSON, a page in JSON. */
export const levelsMax = 3
/** HTML entities of characters that occur in keys. */
const named: { readonly [name: string]: string } = {
  amp: '&',
  sol: '/',
  plus: '+',
  equals: '=',
  lowbar: '_',
  UnderBar: '_',
  hyphen: '-',
  dash: '-',
  period: '.',
  colon: ':',
  comma: ',',
  semi: ';',
  num: '#',
  percnt: '%',
  dollar: '$',
  commat: '@',
  excl: '!',
  quest: '?',
  ast: '*',
  lpar: '(',
  rpar: ')',
  bsol: '\\',
  verbar: '|',
  vert: '|',
  quot: '"',
  apos: "'",
  lt: '<',
  gt: '>',
}
const nameCharsMax = 8
/** A character number may have leading zeros. */
const digitsMax = 10
const controls: { readonly [letter: number]: number } = {
  0x6e: lineFeed,
  0x72: carriageReturn,
  0x74: 0x09,
  0x62: 0x08,
  0x66: 0x0c,
}

/** A text with its escapes decoded: one byte for each character, with its source offset. */
export type Level = {
  readonly text: Buffer
  /** The source offset of each character, and the end after the last; absent for the text itself. */
  readonly places?: Uint32Array
}

export function placeOf({ places }: Level, at: number): number {
  return places ? (places[at] as number) : at
}

/** The text, and its decoded form, repeatedly while there are escapes. */
export function levelsOf(text: Buffer): readonly Level[] {
  const levels: Level[] = [{ text }]
  for (let i = 0; i < levelsMax; i++) {
    const next = undo(levels.at(-1) as Level)
    if (!next) break
    levels.push(next)
  }
  return levels
}

/** The text with its escapes decoded once; undefined if there are none. */
export function undo(level: Level): Level | undefined {
  const { text } = level
  if (!text.includes(backslash) && !text.includes(percent) && !text.includes(ampersand)) return undefined
  const out = Buffer.allocUnsafe(text.length)
  const places = new Uint32Array(text.length + 1)
  let length = 0
  let isChanged = false
  for (let at = 0; at < text.length; ) {
    const byte = text[at] as number
    const sign = byte === backslash || byte === percent || byte === ampersand ? readEscape(text, at) : undefined
    places[length] = placeOf(level, at)
    out[length++] = sign ? sign.value : byte
    isChanged ||= sign !== undefined
    at = sign ? sign.end : at + 1
  }
  places[length] = placeOf(level, text.length)
  return isChanged ? { text: out.subarray(0, length), places: places.subarray(0, length + 1) } : undefined
}

/** A text as base64 may be written: in the URL alphabet, and in lines. */
export type Base64Level = {
  readonly text: Buffer
  /** The source index of each character; absent if all are present. */
  readonly signs?: Uint32Array
}

export function asBase64({ text }: Level): Base64Level {
  if (![dash, underscore, lineFeed, carriageReturn].some(byte => text.includes(byte))) return { text }
  const out = Buffer.allocUnsafe(text.length)
  const signs = new Uint32Array(text.length)
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number
    if (byte === lineFeed || byte === carriageReturn) continue
    signs[length] = at
    out[length++] = byte === dash ? plus : byte === underscore ? slash : byte
  }
  return { text: out.subarray(0, length), signs }
}

type Sign = { readonly value: number; readonly end: number }

/** The character whose escape is at `at`; 0, which no key contains, if it is not a byte. */
function readEscape(text: Buffer, at: number): Sign | undefined {
  const byte = text[at]
  if (byte === percent) return readHex(text, at + 1, 2)
  if (byte === ampersand) return readEntity(text, at + 1)
  const kind = text[at + 1]
  if (kind === undefined) return undefined
  const sign = kind === 0x75 ? readUnicode(text, at + 2) : kind === 0x78 ? readHex(text, at + 2, 2) : undefined
  return sign ?? { value: controls[kind] ?? kind, end: at + 2 }
}

function readUnicode(text: Buffer, at: number): Sign | undefined {
  if (text[at] !== 0x7b) return readHex(text, at, 4)
  const sign = readNumber(text, at + 1, 16)
  return sign && text[sign.end] === 0x7d ? { value: sign.value, end: sign.end + 1 } : undefined
}

function readHex(text: Buffer, at: number, digits: number): Sign | undefined {
  let value = 0
  for (let i = at; i < at + digits; i++) {
    const digit = digitOf(text[i])
    if (digit < 0) return undefined
    value = value * 16 + digit
  }
  return { value: value > 0xff ? 0 : value, end: at + digits }
}

function readEntity(text: Buffer, at: number): Sign | undefined {
  if (text[at] !== hash) {
    const name = /^[A-Za-z]+/.exec(text.toString('latin1', at, at + nameCharsMax + 1))?.[0] ?? ''
    const sign = Object.hasOwn(named, name) ? named[name] : undefined
    if (sign === undefined || text[at + name.length] !== semicolon) return undefined
    return { value: sign.charCodeAt(0), end: at + name.length + 1 }
  }
  const isHex = text[at + 1] === 0x78 || text[at + 1] === 0x58
  const sign = readNumber(text, at + (isHex ? 2 : 1), isHex ? 16 : 10)
  // HTML parsers accept a missing semicolon.
  return sign && { value: sign.value, end: text[sign.end] === semicolon ? sign.end + 1 : sign.end }
}

function readNumber(text: Buffer, from: number, base: number): Sign | undefined {
  let value = 0
  let at = from
  for (; at < from + digitsMax; at++) {
    const digit = digitOf(text[at])
    if (digit < 0 || digit >= base) break
    value = value * base + digit
  }
  return at === from ? undefined : { value: value > 0xff ? 0 : value, end: at }
}

/** -1 for no digit. */
function digitOf(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

const cutAtEnd = /(?:\\(?:u\{?[\da-f]{0,10}|x[\da-f]?)?|%[\da-f]?|&(?:#x?[\da-f]{0,10}|[a-z]{0,8}))$/i
/** No such escape is longer. */
const cutCharsMax = 16

/** The beginning of an escape that the text ends within; its length if there is none. */
export function cutEscape(text: Buffer): number {
  const from = Math.max(0, text.length - cutCharsMax)
  const cut = cutAtEnd.exec(text.toString('latin1', from))
  if (!cut) return text.length
  let at = from + cut.index
  // A backslash may itself be escaped.
  while (at > 0 && text[at] === backslash && text[at - 1] === backslash) at--
  return at
}

/**
 * Whether something is escaped that never needs it: a letter, a digit, or an escape. Every answer is searched natively
 * for it; characters that JSON, URLs and HTML do escape are skipped.
 */
export function hasOddEscape(text: Buffer): boolean {
  for (let at = text.indexOf(unicode); at >= 0; at = text.indexOf(unicode, at + 1))
    if (isOdd(text, at + unicode.length)) return true
  for (let at = text.indexOf(percent); at >= 0; at = text.indexOf(percent, at + 1)) if (isOdd(text, at + 1)) return true
  for (let at = text.indexOf(ampersand); at >= 0; at = text.indexOf(ampersand, at + 1))
    if (isOddEntity(text, at)) return true
  return false
}

/** Without one of these there is no unusual escape. */
export function mayEscape(text: string): boolean {
  return text.includes('\\u00') || text.includes('%') || text.includes('&')
}

const unicode = Buffer.from('\\u00')

/** The two digits of a byte at that offset. */
function isOdd(text: Buffer, at: number): boolean {
  const high = digitOf(text[at])
  const low = digitOf(text[at + 1])
  if (high < 2 || low < 0) return false
  const value = high * 16 + low
  if (value === ampersand) return text[at + 2] === hash || text.toString('latin1', at + 2, at + 6) === 'amp;'
  if (value === percent) return digitOf(text[at + 2]) >= 0 && digitOf(text[at + 3]) >= 0
  return value === backslash || isLetter(value)
}

function isOddEntity(text: Buffer, at: number): boolean {
  const next = text[at + 1]
  if (next === hash) return isLetter(readEntity(text, at + 1)?.value ?? 0)
  return next === 0x61 && text.toString('latin1', at + 1, at + 6) === 'amp;#'
}

function isLetter(value: number): boolean {
  const small = value | 0x20
  return (value >= 0x30 && value <= 0x39) || (small >= 0x61 && small <= 0x7a)
}
