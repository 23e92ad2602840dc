import { setImmediate as nextTurn } from 'node:timers/promises'

/** The minimum length of base64; shorter runs without a space are words, names and links. */
const runBytesMin = 2048

/** By byte: whether it belongs to the base64 alphabets. */
const isEncoded = new Uint8Array(256)
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_'))
  isEncoded[byte] = 1

/** The same for two bytes at once, in their order in memory. */
const areEncoded = new Uint8Array(65_536)
for (let pair = 0; pair < areEncoded.length; pair++)
  areEncoded[pair] = (isEncoded[pair & 0xff] as number) & (isEncoded[pair >> 8] as number)

/** The content of a body: bytes of text, and files in base64 (images, documents, audio). */
export type TextMeasure = { readonly textBytes: number; readonly files: number }

/**
 * The number of bytes that are read at once; longer bodies are read in parts of this size, each in a separate turn of
 * the event loop.
 */
const turnBytes = 1024 * 1024
/** The minimum size of a body whose result is cached; measuring a shorter one is faster than a look-up. */
const keptBytesMin = 16 * 1024
/** Cached results for long bodies, which several callers measure. */
const measured = new WeakMap<Buffer, TextMeasure>()

/**
 * Distinguishes text from files in base64, which are long runs of its alphabet without a space or punctuation. Checks
 * backwards from the earliest possible end of a run, so that little of the text is read.
 */
export function measureText(bytes: Buffer): TextMeasure {
  const known = measured.get(bytes)
  if (known) return known
  const measuring = new Measuring(bytes)
  measuring.read(bytes.length)
  return measuring.result()
}

/** Measures a long body in advance for a caller that cannot wait; undefined if that is not needed. */
export function measureInTurns(bytes: Buffer): Promise<void> | undefined {
  return bytes.length <= turnBytes ? undefined : readInTurns(new Measuring(bytes))
}

async function readInTurns(measuring: Measuring): Promise<void> {
  for (let until = turnBytes; !measuring.read(until); until += turnBytes) await nextTurn()
  measuring.result()
  await nextTurn()
}

class Measuring {
  readonly #bytes: Buffer
  /** Two bytes at a time, aligned in memory; created for the first run. */
  #pairs: Uint16Array | undefined
  /** The beginning of the current run. */
  #begin = 0
  /** The position up to which a sufficiently long run has been read; 0 if there is none. */
  #end = 0
  #encoded = 0
  #files = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Reads up to about `until`. @returns true at the end of the body */
  read(until: number): boolean {
    const bytes = this.#bytes
    const to = Math.min(until, bytes.length)
    for (;;) {
      if (this.#end === 0 && !this.#find(to)) break
      const end = this.#runEnd(to)
      this.#end = end
      if (end >= to && to < bytes.length) return false
      this.#encoded += end - this.#begin
      this.#files++
      this.#begin = end + 1
      this.#end = 0
    }
    return to === bytes.length
  }

  result(): TextMeasure {
    const result = { textBytes: this.#bytes.length - this.#encoded, files: this.#files }
    if (this.#bytes.length >= keptBytesMin) measured.set(this.#bytes, result)
    return result
  }

  /** The end of the current run, or `to`. */
  #runEnd(to: number): number {
    const bytes = this.#bytes
    const first = bytes.byteOffset & 1
    this.#pairs ??= new Uint16Array(bytes.buffer, bytes.byteOffset + first, (bytes.length - first) >> 1)
    const pairs = this.#pairs
    let end = this.#end
    if (((end - first) & 1) !== 0 && end < to) {
      if (isEncoded[bytes[end] as number] === 0) return end
      end++
    }
    let pair = (end - first) >> 1
    const last = ((to - first) >> 1) - 3
    for (; pair < last; pair += 4) {
      const found =
        (areEncoded[pairs[pair] as number] as number) &
        (areEncoded[pairs[pair + 1] as number] as number) &
        (areEncoded[pairs[pair + 2] as number] as number) &
        (areEncoded[pairs[pair + 3] as number] as number)
      if (found === 0) break
    }
    end = Math.max(end, first + (pair << 1))
    while (end < to && isEncoded[bytes[end] as number] === 1) end++
    return end
  }

  /** Finds the next sufficiently long run. @returns false if there is none before `to` */
  #find(to: number): boolean {
    const bytes = this.#bytes
    let begin = this.#begin
    while (begin + runBytesMin <= to) {
      const reach = begin + runBytesMin - 1
      let back = reach
      while (back >= begin && isEncoded[bytes[back] as number] === 1) back--
      if (back < begin) {
        this.#begin = begin
        this.#end = reach + 1
        return true
      }
      begin = back + 1
    }
    this.#begin = begin
    return false
  }
}
