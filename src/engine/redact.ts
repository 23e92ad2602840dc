import type { Stage } from '../kit/index.ts'

/** Parts of a credential that are shorter are words such as Bearer, or nothing to hide. */
const secretCharsMin = 6
const star = 0x2a
/** `\u003d` is the longest form of a byte. */
export const formCharsMax = 6

/**
 * Strikes our own credentials out of an answer: upstreams quote the key that they refuse, and the caller is not to learn
 * it (`docs/security.md#keys-that-upstreams-quote`). As many stars as there were bytes, so that a Content-Length stays
 * true. Undefined where there is nothing to hide.
 */
export function createRedaction(texts: readonly string[]): Redaction | undefined {
  const parts = secretParts(texts)
  return parts.length === 0 ? undefined : new Redaction(parts)
}

/** What of credentials is secret, each once. */
export function secretParts(texts: readonly string[]): readonly string[] {
  const parts = texts
    .flatMap(text => text.split(/\s+/))
    .filter(part => part.length >= secretCharsMin && !/^(?:bearer|basic)$/i.test(part))
  return [...new Set(parts)]
}

/** The same of a text that is whole. */
export function strikeOut(text: string, secrets: readonly string[]): string {
  const redaction = createRedaction(secrets)
  if (!redaction) return text
  return Buffer.concat([redaction.write(Buffer.from(text)), redaction.end()]).toString()
}

class Redaction implements Stage {
  readonly #secrets: RegExp
  readonly #longest: number
  /** The end of what came, which may be the beginning of a secret. */
  #held: Buffer = Buffer.alloc(0)

  constructor(secrets: readonly string[]) {
    const quoted = secrets.map(secret => Buffer.from(secret))
    this.#secrets = patternOf(quoted)
    this.#longest = Math.max(...quoted.map(({ length }) => length)) * formCharsMax
  }

  write(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#held, chunk])
    for (const { index, 0: found } of bytes.toString('latin1').matchAll(this.#secrets))
      bytes.fill(star, index, index + found.length)
    const out = Math.max(0, bytes.length - this.#longest + 1)
    this.#held = bytes.subarray(out)
    return bytes.subarray(0, out)
  }

  end(): Buffer {
    return this.#held
  }
}

/** Secrets in every form that they may be quoted in. */
export function patternOf(secrets: readonly Buffer[]): RegExp {
  // The longest first: one may begin as another does.
  const byLength = secrets.toSorted((a, b) => b.length - a.length)
  return new RegExp(byLength.map(secret => [...secret].map(formOf).join('')).join('|'), 'g')
}

/** A byte of a secret as it may be quoted: itself, `\/` of JSON, `\u003d` of JSON, `%2F` or `%2f` of an address. */
function formOf(byte: number): string {
  const hex = hexOf(byte)
  const digits = hex.replaceAll(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)
  return `(?:\\\\?\\x${hex}|\\\\u00${digits}|%${digits})`
}

/** The same but for the byte itself, in small letters. */
export function formsOf(byte: number): readonly string[] {
  const hex = hexOf(byte)
  return [`\\${String.fromCharCode(byte).toLowerCase()}`, `\\u00${hex}`, `%${hex}`]
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
