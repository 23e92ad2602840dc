import type { Stage } from '../domain/index.ts'
import { SecretSearch, strike } from './secret-search.ts'

/** Shorter parts of a credential are words such as Bearer, or nothing to hide. */
const secretCharsMin = 6
/** Errors up to this size are read whole, so that no secret is split between two pieces. */
const wholeBytes = 65_536
const nothing = Buffer.alloc(0)

/**
 * Removes our own credentials from an answer: upstreams quote the key that they refuse, and the client must not see it
 * (`docs/security.md#credential-redaction-in-responses`). Each byte becomes a star, so that Content-Length remains right.
 * Undefined if there is nothing to hide.
 */
export function createRedaction(texts: readonly string[]): Redaction | undefined {
  const parts = secretParts(texts)
  return parts.length === 0 ? undefined : new Redaction(new SecretSearch(parts))
}

/** The secret parts of credentials, each once. */
export function secretParts(texts: readonly string[]): readonly string[] {
  const parts = texts
    .flatMap(text => [...text.split(/\s+/), ...passwordOf(text)])
    .filter(part => part.length >= secretCharsMin && !/^(?:bearer|basic)$/i.test(part))
  return [...new Set(parts)]
}

/** RFC 7617: the header is a name and a password in base64, and either may be quoted in clear. */
function passwordOf(text: string): readonly string[] {
  const [, quoted] = /^basic\s+(\S+)$/i.exec(text) ?? []
  if (quoted === undefined) return []
  const plain = Buffer.from(quoted, 'base64').toString()
  return plain.includes(':') ? [plain.slice(plain.indexOf(':') + 1)] : []
}

/** The same for a complete text. */
export function strikeOut(text: string, secrets: readonly string[]): string {
  const parts = secretParts(secrets)
  if (parts.length === 0) return text
  const bytes = Buffer.from(text)
  strike(bytes, new SecretSearch(parts).find(bytes))
  return bytes.toString()
}

class Redaction implements Stage {
  readonly #search: SecretSearch
  #held: Buffer[] = []
  #bytes = 0
  /** How many bytes are waited for. */
  #wanted = wholeBytes

  constructor(search: SecretSearch) {
    this.#search = search
  }

  write(chunk: Buffer): Buffer {
    // A copy: the memory of what is passed on may be reused by the time it is read.
    this.#held.push(Buffer.from(chunk))
    this.#bytes += chunk.length
    if (this.#bytes < this.#wanted) return nothing
    const bytes = this.#struck()
    const out = Math.max(0, bytes.length - this.#search.bytesMax)
    this.#held = [bytes.subarray(out)]
    this.#bytes = bytes.length - out
    this.#wanted = this.#bytes + wholeBytes
    return bytes.subarray(0, out)
  }

  end(): Buffer {
    return this.#struck()
  }

  #struck(): Buffer {
    const bytes = Buffer.concat(this.#held)
    this.#held = []
    strike(bytes, this.#search.find(bytes))
    return bytes
  }
}
