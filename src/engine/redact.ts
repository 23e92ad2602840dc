import type { Stage } from '../kit/index.ts'

/** Parts of a credential that are shorter are words such as Bearer, or nothing to hide. */
const secretCharsMin = 6
const star = 0x2a

/**
 * Strikes our own credentials out of an answer: upstreams quote the key that they refuse, and the caller is not to learn
 * it (`docs/security.md#keys-that-upstreams-quote`). As many stars as there were bytes, so that a Content-Length stays
 * true. Undefined where there is nothing to hide.
 */
export function createRedaction(texts: readonly string[]): Redaction | undefined {
  const parts = texts
    .flatMap(text => text.split(/\s+/))
    .filter(part => part.length >= secretCharsMin && !/^(?:bearer|basic)$/i.test(part))
  // Those of a query are quoted as they were sent.
  const secrets = [...new Set(parts.flatMap(part => [part, encodeURIComponent(part)]))].map(part => Buffer.from(part))
  return secrets.length === 0 ? undefined : new Redaction(secrets)
}

/** The same of a text that is whole. */
export function strikeOut(text: string, secrets: readonly string[]): string {
  const redaction = createRedaction(secrets)
  if (!redaction) return text
  return Buffer.concat([redaction.write(Buffer.from(text)), redaction.end()]).toString()
}

class Redaction implements Stage {
  readonly #secrets: readonly Buffer[]
  readonly #longest: number
  /** The end of what came, which may be the beginning of a secret. */
  #held: Buffer = Buffer.alloc(0)

  constructor(secrets: readonly Buffer[]) {
    this.#secrets = secrets
    this.#longest = Math.max(...secrets.map(secret => secret.length))
  }

  write(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#held, chunk])
    for (const secret of this.#secrets) {
      for (let at = bytes.indexOf(secret); at >= 0; at = bytes.indexOf(secret, at + secret.length))
        bytes.fill(star, at, at + secret.length)
    }
    const out = Math.max(0, bytes.length - this.#longest + 1)
    this.#held = bytes.subarray(out)
    return bytes.subarray(0, out)
  }

  end(): Buffer {
    return this.#held
  }
}
