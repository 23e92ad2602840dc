import type { Micros } from '../../src/plugin-api/index.ts'
import { parseJsonIfValid } from '../../src/wire/index.ts'

/** A cached answer, and facts about the request that created it. */
export type CachedAnswer = {
  readonly contentType: string
  /** The headers that the gateway itself added. */
  readonly headers?: { readonly [name: string]: string }
  readonly body: Buffer
  /** When the request that created it began, and when it was stored: milliseconds since the epoch. */
  readonly askedAt: number
  readonly keptAt: number
  /** Its cost; undefined if nothing was charged. */
  readonly amount: Micros | undefined
  readonly requestId: string
  readonly model: string
  readonly keyId: string
}

/** The maximum bytes of an entry without its body. */
export const entryBytes = 512

export function writeCached({ body, ...rest }: CachedAnswer): string {
  return JSON.stringify({ ...rest, body: body.toString('base64') })
}

/** Undefined for text that is not such an answer. */
export function readCached(text: string): CachedAnswer | undefined {
  const read = parseJsonIfValid(text) as (Omit<CachedAnswer, 'body'> & { readonly body: string }) | null | undefined
  const isComplete =
    typeof read?.body === 'string' &&
    typeof read.contentType === 'string' &&
    Number.isFinite(read.keptAt) &&
    Number.isFinite(read.askedAt)
  return isComplete ? { ...read, body: Buffer.from(read.body, 'base64') } : undefined
}
