import type { Stage } from '../domain/index.ts'
import { clipWords } from './clip-words.ts'
import { strikeOut } from './redact.ts'

/** Of an answer so much is read: what went wrong is at its beginning. */
const bytesMax = 8_192
/** Where styles have their words, from the outside in. */
const places = ['error', 'errors', 'message', 'detail', 'details', 'msg', 'title'] as const
const depthMax = 4
/** What repeats the request. */
const echoed = /"(?:inputs?|messages|contents|request|body)"\s*:/

/**
 * Hears what an upstream says when it refuses, for the log: the beginning alone, and of that the words. It stands behind
 * what strikes our own keys out, and passes everything on as it came.
 */
export class ErrorSnippet implements Stage {
  readonly letsGo = true
  readonly #secrets: readonly string[]
  readonly #own: string | undefined
  #kept: Buffer = Buffer.alloc(0)

  /** `own`: the request's words; where they are not known nothing is kept. */
  constructor(secrets: readonly string[], own: string | undefined) {
    this.#secrets = secrets
    this.#own = own
  }

  write(chunk: Buffer): Buffer {
    const room = bytesMax - this.#kept.length
    // A copy: the memory of what is passed on may be another's by the time it is read.
    if (room > 0) this.#kept = Buffer.concat([this.#kept, chunk.subarray(0, room)])
    return chunk
  }

  end(): readonly Buffer[] {
    return []
  }

  /** Null where it said nothing that a person would read. */
  get words(): string | null {
    if (this.#own === undefined) return null
    const found = findWords(this.#kept.toString())
    // Once more: JSON may have written a key in signs that the bytes before did not show.
    return found === undefined ? null : clipWords(strikeOut(found, this.#secrets), this.#own)
  }
}

function findWords(text: string): string | undefined {
  try {
    return findMessage(JSON.parse(text), 0)
  } catch {
    // A page for people, or an answer that is longer than what was kept.
    const [own = ''] = text.split(echoed, 1)
    const named = /"(?:message|msg|detail|error)"\s*:\s*"((?:[^"\\]|\\.){1,1000})/.exec(own)?.[1]
    if (named !== undefined) return unescaped(named)
    const plain = text.trim()
    return plain === '' || /^(?:[<{]|\[\s*[{"])/.test(plain) ? undefined : plain
  }
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}

function findMessage(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (typeof value !== 'object' || value === null || depth > depthMax) return undefined
  if (Array.isArray(value)) return findMessage(value[0], depth + 1)
  for (const place of places) {
    const found = findMessage((value as { readonly [name: string]: unknown })[place], depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
