import { setImmediate as nextTurn } from 'node:timers/promises'

/** Shorter runs without a blank are words, names and links. */
const runBytesMin = 2048

/** By byte: whether it belongs to the alphabets of base64. */
const isEncoded = new Uint8Array(256)
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_'))
  isEncoded[byte] = 1

/** What a body holds: bytes of text, and files written as base64 in it (pictures, documents, sound). */
export type TextMeasure = { readonly textBytes: number; readonly files: number }

/** Read at once; longer bodies are read in slices of it, each in a turn of the event loop of its own. */
const turnBytes = 1024 * 1024
/** What was found in a body, since it is asked for more than once. */
const measured = new WeakMap<Buffer, TextMeasure>()

/**
 * Tells text from files that are written as base64: long runs of its alphabet without a blank or a mark. Looks back from
 * where such a run would have to reach to, so that text is hardly read at all.
 */
export function measureText(bytes: Buffer): TextMeasure {
  const known = measured.get(bytes)
  if (known) return known
  const measuring = new Measuring(bytes)
  measuring.read(bytes.length)
  return measuring.result()
}

/** Measures a long body before somebody asks who cannot wait; undefined when that is not needed. */
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
      let end = this.#end
      while (end < to && isEncoded[bytes[end] as number] === 1) end++
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
    measured.set(this.#bytes, result)
    return result
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
