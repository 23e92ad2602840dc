import type { Micros } from '../../src/plugin-api/index.ts'
import { parseJsonIfValid } from '../../src/wire/index.ts'

/** An answer that is kept, and what is known of the request that made it. */
export type KeptAnswer = {
  readonly contentType: string
  /** The gateway's own headers of it. */
  readonly headers?: { readonly [name: string]: string }
  readonly body: Buffer
  /** When the request that made it began, and when it was kept: milliseconds since the epoch. */
  readonly askedAt: number
  readonly keptAt: number
  /** What it has cost; undefined if nothing was charged. */
  readonly amount: Micros | undefined
  readonly requestId: string
  readonly model: string
  readonly keyId: string
}

/** Of an entry without its body, at most. */
export const entryBytes = 512

export function writeKept({ body, ...rest }: KeptAnswer): string {
  return JSON.stringify({ ...rest, body: body.toString('base64') })
}

/** Undefined for a text that is no such answer. */
export function readKept(text: string): KeptAnswer | undefined {
  const read = parseJsonIfValid(text) as (Omit<KeptAnswer, 'body'> & { readonly body: string }) | null | undefined
  const isWhole =
    typeof read?.body === 'string' &&
    typeof read.contentType === 'string' &&
    Number.isFinite(read.keptAt) &&
    Number.isFinite(read.askedAt)
  return isWhole ? { ...read, body: Buffer.from(read.body, 'base64') } : undefined
}
