import { secretsOfUpstream, type Stage, type Upstream } from '../domain/index.ts'
import { secretParts } from './redact.ts'
import { SecretSearch, strike } from './secret-search.ts'

/** A shorter text, or one of a single kind of characters, may be a word of an answer: `sk-no-key-required`. */
const secretCharsMin = 20
const spaceMost = 0x20
const nothing = Buffer.alloc(0)

type Known = { readonly signed: string; readonly search: SecretSearch }

/** Kept for each upstream, with its last request's signing secrets: every answer needs it. */
const known = new WeakMap<Upstream, Known>()

/**
 * The secrets that an answer may not contain. `signed`: what a signing plugin made for one request, in addition to the
 * upstream's own.
 */
export function soughtSecrets(upstream: Upstream, signed: readonly string[] = []): SecretSearch {
  const own = signed.join('\n')
  let sought = known.get(upstream)
  if (sought?.signed !== own) {
    sought = { signed: own, search: toSearch([...secretsOfUpstream(upstream), ...signed]) }
    known.set(upstream, sought)
  }
  return sought.search
}

function toSearch(texts: readonly string[]): SecretSearch {
  return new SecretSearch(secretParts(texts).filter(part => part.length >= secretCharsMin && isMixed(part)))
}

/** Whether a text may contain one of them. */
export function mayHave(search: SecretSearch, text: string): boolean {
  return text.length >= secretCharsMin && !search.isEmpty && search.mayHave(Buffer.from(text))
}

/**
 * Removes our credentials from an accepted answer: its errors are in the middle, or at its end. Bytes without them pass
 * unchanged, without a copy; only a possible beginning of a secret is held. Every chunk is searched natively for runs
 * of the secrets, of their base64, and for escapes of letters; only a chunk with such a run is searched fully
 * (`docs/security.md#credential-redaction-in-responses`).
 */
export class AnswerRedaction implements Stage {
  readonly letsGo = true
  readonly #search: SecretSearch
  #held: Buffer | undefined

  constructor(search: SecretSearch) {
    this.#search = search
  }

  write(chunk: Buffer): Buffer {
    const bytes = this.#held ? Buffer.concat([this.#held, chunk]) : chunk
    const { out, end } = this.#strike(bytes, this.#beginning(bytes))
    // A copy: the memory of what is passed on may be reused by the time it is read.
    this.#held = end < out.length ? Buffer.from(out.subarray(end)) : undefined
    return end < out.length ? out.subarray(0, end) : out
  }

  end(): Buffer {
    const held = this.#held
    return held ? this.#strike(held, held.length).out : nothing
  }

  /** The bytes without secrets up to `end`, or to the beginning of one that continues after it. */
  #strike(bytes: Buffer, end: number): { readonly out: Buffer; readonly end: number } {
    if (!this.#search.mayHave(bytes)) return { out: bytes, end }
    const ranges = this.#search.find(bytes).toSorted((a, b) => b.from - a.from)
    let until = end
    for (const { from, to } of ranges) if (to > until) until = Math.min(until, from)
    const struck = ranges.filter(({ to }) => to <= until)
    if (struck.length === 0) return { out: bytes, end: until }
    const copy = Buffer.from(bytes)
    strike(copy, struck)
    return { out: copy, end: until }
  }

  /** The beginning of a secret that the bytes end within; their length if there is none. */
  #beginning(bytes: Buffer): number {
    let from = bytes.length
    const least = Math.max(0, from - this.#search.bytesMax)
    // No secret continues after white space, which ends events.
    while (from > least && (bytes[from - 1] as number) > spaceMost) from--
    return from === bytes.length ? from : from + this.#search.begun(bytes.subarray(from))
  }
}

function isMixed(part: string): boolean {
  return /\d/.test(part) || (/[a-z]/.test(part) && /[A-Z]/.test(part))
}
