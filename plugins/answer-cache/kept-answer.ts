import type { Micros } from '../../src/plugin-api/index.ts'

/** An answer that is kept, and what is known of the request that made it. */
export type KeptAnswer = {
  readonly contentType: string
  readonly body: Buffer
  /** Milliseconds since the epoch. */
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

/** @throws Error for a text that is no such answer */
export function readKept(text: string): KeptAnswer {
  const read = JSON.parse(text) as Omit<KeptAnswer, 'body'> & { readonly body: string }
  const isWhole = typeof read.body === 'string' && typeof read.contentType === 'string' && Number.isFinite(read.keptAt)
  if (!isWhole) throw new Error('the kept response is damaged')
  return { ...read, body: Buffer.from(read.body, 'base64') }
}
