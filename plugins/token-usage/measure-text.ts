import { setImmediate as nextTurn } from 'node:timers/promises'

/** Shorter runs without a blank are words, names and links. */
const runBytesMin = 2048

/** By byte: whether it belongs to the alphabets of base64. */
const isEncoded = new Uint8Array(256)
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_'))
  isEncoded[byte] = 1

/** The same for two bytes at once, in their order in memory, whatever that is. */
const areEncoded = new Uint8Array(65_536)
for (let pair = 0; pair < areEncoded.length; pair++)
  areEncoded[pair] = (isEncoded[pair & 0xff] as number) & (isEncoded[pair >> 8] as number)

/** What a body holds: bytes of text, and files written as base64 in it (pictures, documents, sound). */
export type TextMeasure = { readonly textBytes: number; readonly files: number }

/** Read at once; longer bodies are read in slices of it, each in a turn of the event loop of its own. */
const turnBytes = 1024 * 1024
/** Measuring a shorter body takes less time than a look-up. */
const keptBytesMin = 16 * 1024
/** What was found in a long body: several callers measure the same one. */
const measured = new WeakMap<Buffer, TextMeasure>()

/**
 * Distinguishes text from files that are written as base64: long runs of its alphabet without a blank or a mark. Looks back from
 * where such a run would have to reach to, so that text is hardly read at all.
 */
export function measureText(bytes: Buffer): TextMeasure {
  const known = measured.get(bytes)
  if (known) return known
  const measuring = new Measuring(bytes)
  measuring.read(bytes.length)
  return measuring.result()
}

/** Measures a long body before a caller that cannot wait; undefined when that is not needed. */
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
  /** Two bytes at a time, from the first even place in memory on; made for the first run. */
  #pairs: Uint16Array | undefined
  /** Where the run begins that is being looked for, or read. */
  #begin = 0
  /** How far a run has been read that is long enough; 0 while none is. */
  #end = 0
  #encoded = 0
  #files = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Reads on to about `until`. @returns true at the end of the body */
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

  /** Where the run ends that is being read, or `to`. */
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

  /** Finds the next run that is long enough. @returns false when none reaches to before `to` */
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
