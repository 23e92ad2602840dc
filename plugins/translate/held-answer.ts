import { setImmediate as nextTurn } from 'node:timers/promises'
import type { UpstreamResponse } from '../../src/plugin-api/index.ts'
import { type AnswerValues, type MemoryClaim, ownsMemory, ValueReader } from '../../src/wire/index.ts'
import type { Reading } from './describe.ts'
import { fail } from './errors.ts'
import { TurnBudget } from './turn-budget.ts'

/** The maximum length of an answer about a job; it may contain the whole result. */
const answerBytesMax = 64 * 1024 * 1024
/** Held bytes are read again in parts of this size, each in its own turn of the event loop. */
const turnBytes = 65_536
/** The memory of a chunk in addition to its bytes: an upstream may send them one by one. */
const chunkCostBytes = 128

/** The bytes of an answer, held until it is known whether they are read. All of them count toward the budget. */
export class HeldBody implements AsyncIterable<Buffer> {
  readonly #claim: MemoryClaim
  readonly #bytesMax: number
  #chunks: Buffer[] = []
  #bytes = 0

  /** @param bytesMax later bytes are not held: they would not be read */
  constructor(claim: MemoryClaim, bytesMax: number) {
    this.#claim = claim
    this.#bytesMax = bytesMax
  }

  /** @throws Failure upstream_busy */
  add(chunk: Buffer): void {
    if (this.#bytes >= this.#bytesMax) return
    if (!this.#claim.take(costOf(chunk))) throw fail('upstream_busy')
    this.#bytes += chunk.length
    // A view of a larger piece of memory would keep all of it.
    this.#chunks.push(ownsMemory(chunk) ? chunk : Buffer.from(chunk))
  }

  /** Drops bytes that will not be read. Idempotent. */
  drop(): void {
    for (const chunk of this.#chunks) this.#claim.give(costOf(chunk))
    this.#chunks = []
  }

  /** Returns the bytes once, and frees their memory. */
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
 * Reads a whole answer about a job as it arrives. Never parses it as a whole: a vendor may answer a poll with 64 MiB of
 * numbers. An answer that is not a JSON object has no values.
 * @param keptBytesMax the maximum that is held for a second reader
 * @throws Failure upstream_busy, upstream_answer_unreadable, and the error that cuts it
 */
export async function holdAnswer(
  response: UpstreamResponse,
  { reading, claim, keptBytesMax = answerBytesMax }: { reading: Reading; claim: MemoryClaim; keptBytesMax?: number },
): Promise<HeldAnswer> {
  const body = new HeldBody(claim, keptBytesMax)
  const reader = new ValueReader(reading.wanted)
  const turnBudget = new TurnBudget()
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > answerBytesMax)
        throw fail('upstream_answer_unreadable', { why: 'it is too long for a response about a job' })
      body.add(chunk)
      for (const piece of turnBudget.split(chunk)) {
        reader.write(piece)
        const turn = turnBudget.took(reader.seen)
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
