import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Random, systemRandom } from './random.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The value of each character of the alphabet, by its code. */
const digits: readonly number[] = Array.from({ length: 128 }, (_, code) => alphabet.indexOf(String.fromCharCode(code)))
const mark = 'sk-'
/** Prefix of admin tokens: no client sends one by mistake, and scanners recognise it. */
const adminMark = 'tga-'
const randomLength = 43
const checksumLength = 6
/** The largest multiple of 62 in a byte: higher values would favour the first characters. */
const evenMax = 248

/** The pattern of this gateway's keys, for secret scanners. */
export const secretPattern: RegExp = /^sk-[0-9A-Za-z]{49}$/

/** A new key: `sk-`, 43 random base62 characters (256 bit) and 6 of their CRC-32 (`docs/rules.md#keys`). */
export function createSecret(random: Pick<Random, 'bytes'> = systemRandom): string {
  let text = ''
  while (text.length < randomLength)
    for (const byte of random.bytes(64))
      if (byte < evenMax && text.length < randomLength) text += alphabet.charAt(byte % alphabet.length)
  return mark + text + checksumOf(text)
}

/** A new admin token, of the same form. */
export function createAdminSecret(random: Pick<Random, 'bytes'> = systemRandom): string {
  return adminMark + createSecret(random).slice(mark.length)
}

/** The text if this gateway could have created it as an admin token, else undefined. */
export function readAdminSecret(text: string): string | undefined {
  if (!text.startsWith(adminMark)) return undefined
  return readSecret(mark + text.slice(adminMark.length)) === undefined ? undefined : text
}

/** The text if this gateway could have created it as a key, else undefined: then no store has to be read. */
export function readSecret(text: string): string | undefined {
  if (!secretPattern.test(text)) return undefined
  const end = mark.length + randomLength
  return readNumber(text, end) === crc32(text.slice(mark.length, end)) ? text : undefined
}

/** Hex SHA-256: the only form in which a key is kept. A 256-bit random secret needs no slow hash. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** The visible part of a key: its first characters and its last four. */
export function hintOfSecret(secret: string): string {
  return `${secret.slice(0, mark.length + 4)}…${secret.slice(-4)}`
}

/** The number that a text's last characters encode. */
function readNumber(text: string, from: number): number {
  let value = 0
  for (let i = from; i < text.length; i++) value = value * alphabet.length + (digits[text.charCodeAt(i)] as number)
  return value
}

function checksumOf(random: string): string {
  let rest = crc32(random)
  let text = ''
  for (let i = 0; i < checksumLength; i++) {
    text = alphabet.charAt(rest % alphabet.length) + text
    rest = Math.floor(rest / alphabet.length)
  }
  return text
}
