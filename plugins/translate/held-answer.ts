import { setImmediate as nextTurn } from 'node:timers/promises'
import type { UpstreamResponse } from '../../src/plugin-api/index.ts'
import { type AnswerValues, type MemoryClaim, ownsMemory, ValueReader } from '../../src/wire/index.ts'
import type { Reading } from './describe.ts'
import { fail } from './errors.ts'
import { Pace } from './pace.ts'

/** No answer about a job is longer; a result that comes with it is the whole of it. */
const answerBytesMax = 64 * 1024 * 1024
/** What is read again is read in parts of this size, each in its own turn of the event loop. */
const turnBytes = 65_536
/** What a chunk costs in memory in addition to its bytes: an upstream may send them one by one. */
const chunkCostBytes = 128

/** The bytes of an answer, held until it is known whether they are read. All of it is billed to the budget. */
export class HeldBody implements AsyncIterable<Buffer> {
  readonly #claim: MemoryClaim
  readonly #bytesMax: number
  #chunks: Buffer[] = []
  #bytes = 0

  /** @param bytesMax what comes after so many bytes is not held: it would not be read */
  constructor(claim: MemoryClaim, bytesMax: number) {
    this.#claim = claim
    this.#bytesMax = bytesMax
  }

  /** @throws Failure upstream_busy */
  add(chunk: Buffer): void {
    if (this.#bytes >= this.#bytesMax) return
    if (!this.#claim.take(costOf(chunk))) throw fail('upstream_busy')
    this.#bytes += chunk.length
    // A part of a larger piece of memory would keep all of that.
    this.#chunks.push(ownsMemory(chunk) ? chunk : Buffer.from(chunk))
  }

  /** It will not be read. Idempotent. */
  drop(): void {
    for (const chunk of this.#chunks) this.#claim.give(costOf(chunk))
    this.#chunks = []
  }

  /** Hands the bytes out once, and gives back what they held. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    const chunks = this.#chunks
    this.#chunks = []
    let read = 0
    for (const [i, chunk] of chunks.entries()) {
      yield chunk
      chunks[i] = none
      this.#claim.give(costOf(chunk))
      read += chunk.length + chunkCostBytes
      if (read < turnBytes) continue
      read = 0
      await nextTurn()
    }
  }
}

/** The fields of a job's response at the described paths, and the response itself, which may be the result. */
export type HeldAnswer = { readonly values: AnswerValues; readonly body: HeldBody }

/**
 * Reads all of an answer about a job while it comes. It is never parsed as a whole: a vendor may answer a poll with 64 MiB of
 * numbers. What is no JSON object says nothing.
 * @param keptBytesMax the maximum that is held for a second reader
 * @throws Failure upstream_busy, upstream_answer_unreadable, and what breaks it off
 */
export async function holdAnswer(
  response: UpstreamResponse,
  { reading, claim, keptBytesMax = answerBytesMax }: { reading: Reading; claim: MemoryClaim; keptBytesMax?: number },
): Promise<HeldAnswer> {
  const body = new HeldBody(claim, keptBytesMax)
  const reader = new ValueReader(reading.wanted)
  const pace = new Pace()
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > answerBytesMax)
        throw fail('upstream_answer_unreadable', { why: 'it is too long for a response about a job' })
      body.add(chunk)
      for (const piece of pace.split(chunk)) {
        reader.write(piece)
        const turn = pace.took(reader.seen)
        if (turn) await turn
      }
    }
  } catch (error) {
    body.drop()
    throw error
  }
  return { values: reader.end(), body }
}

const none = Buffer.alloc(0)

function costOf(chunk: Buffer): number {
  return chunk.length + chunkCostBytes
}
