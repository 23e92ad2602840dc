import type { Passed, Usage } from '../../src/plugin-api/index.ts'
import type { Reading } from './reading.ts'

/** An answer that never reports its usage: a transcript as text, or audio. Its bytes are counted as they pass. */
export class PlainReading implements Reading {
  readonly fault = undefined
  readonly model = undefined
  readonly finishReasons: readonly string[] = []
  readonly isStream = false
  readonly #isText: boolean
  readonly #bytesPerToken: number
  readonly #fileTokens: number
  bytes = 0

  constructor(options: { readonly isText: boolean; readonly bytesPerToken: number; readonly fileTokens: number }) {
    this.#isText = options.isText
    this.#bytesPerToken = options.bytesPerToken
    this.#fileTokens = options.fileTokens
  }

  write(chunk: Buffer): Passed {
    this.bytes += chunk.length
    return chunk
  }

  end(): Passed {
    return []
  }

  usage(): Usage | null {
    return null
  }

  uncounted(): number {
    return this.byLength()
  }

  /** The tokens by length; anything but text counts as a file of any length. */
  byLength(): number {
    if (this.#isText) return Math.ceil(this.bytes / this.#bytesPerToken)
    return this.bytes === 0 ? 0 : this.#fileTokens
  }
}
