import type { Call, Sink } from './call-request.ts'
import { fail } from './errors.ts'

/** Bytes that have arrived and are unread. */
const aheadBytesMax = 131_072

/** An answer's bytes for a reader at its own pace; the upstream is read only slightly ahead. */
export class UpstreamResponseBody implements Sink, AsyncIterable<Buffer> {
  readonly #source: Pick<Call, 'start' | 'pause' | 'resume' | 'abort'>
  readonly #bytesMax: number
  readonly #onEnd: () => void
  readonly #queue: Buffer[] = []
  #queued = 0
  #received = 0
  #isWhole = false
  #failure: Error | undefined
  #wake: (() => void) | undefined

  /** @param onEnd is called when all of it has arrived */
  constructor(
    source: Pick<Call, 'start' | 'pause' | 'resume' | 'abort'>,
    bytesMax: number | undefined,
    onEnd: () => void,
  ) {
    this.#source = source
    this.#bytesMax = bytesMax ?? Number.POSITIVE_INFINITY
    this.#onEnd = onEnd
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    this.#source.start(this)
    try {
      for (;;) {
        const chunk = this.#queue.shift()
        if (chunk) {
          this.#queued -= chunk.length
          if (this.#queued <= aheadBytesMax) this.#source.resume()
          yield chunk
        } else if (this.#failure) throw this.#failure
        else if (this.#isWhole) return
        else await this.#woken()
      }
    } finally {
      if (!this.#isWhole) this.#source.abort(fail('upstream_cut', { reason: 'nobody reads its answer' }))
    }
  }

  #woken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  data(chunk: Buffer): void {
    this.#received += chunk.length
    if (this.#received > this.#bytesMax) {
      const failure = fail('upstream_answer_too_large', { why: `it has more than ${this.#bytesMax} bytes` })
      this.#source.abort(failure)
      return this.cut(failure)
    }
    this.#queue.push(chunk)
    this.#queued += chunk.length
    if (this.#queued > aheadBytesMax) this.#source.pause()
    this.#notify()
  }

  end(): void {
    this.#isWhole = true
    this.#onEnd()
    this.#notify()
  }

  cut(failure: Error): void {
    this.#failure ??= failure
    this.#notify()
  }

  #notify(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
