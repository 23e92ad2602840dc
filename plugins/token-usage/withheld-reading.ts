import type { Awaitable, Passed, Usage } from '../../src/plugin-api/index.ts'
import type { Reading } from './reading.ts'

/**
 * The maximum size of a held answer. A longer one is released before its end is known: if its report is incomplete, it
 * needs a review.
 */
export const withheldBytesMax = 8 * 1024 * 1024
const none: readonly Buffer[] = []

/** Holds an answer until its end, where `refuse` may throw; an answer that becomes too long passes. */
export class WithheldReading implements Reading {
  readonly #reading: Reading
  readonly #refuse: (reading: Reading) => void
  /** The held part; undefined after the answer was released. */
  #held: Buffer[] | undefined = []

  constructor(reading: Reading, refuse: (reading: Reading) => void) {
    this.#reading = reading
    this.#refuse = refuse
  }

  get bytes(): number {
    return this.#reading.bytes
  }

  get fault(): string | undefined {
    return this.#reading.fault
  }

  get model(): string | undefined {
    return this.#reading.model
  }

  get finishReasons(): readonly string[] {
    return this.#reading.finishReasons
  }

  get isStream(): boolean {
    return this.#reading.isStream
  }

  write(chunk: Buffer): Awaitable<Passed> {
    const passed = this.#reading.write(chunk)
    const held = this.#held
    if (!held) return passed
    held.push(chunk)
    if (this.bytes <= withheldBytesMax) return none
    this.#held = undefined
    return held
  }

  /** @throws the error of `refuse` */
  end(): Awaitable<Passed> {
    const passed = this.#reading.end()
    const held = this.#held
    if (!held) return passed
    this.#held = undefined
    this.#refuse(this.#reading)
    return held
  }

  usage(): Usage | null {
    return this.#reading.usage()
  }

  uncounted(): number {
    return this.#reading.uncounted()
  }

  byLength(): number {
    return this.#reading.byLength()
  }
}
