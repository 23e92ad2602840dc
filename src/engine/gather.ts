import { freeMemory, joined } from '../wire/index.ts'

/** Chunks up to this size are put together: each Buffer costs more than a hundred bytes, whatever it holds. */
const smallBytes = 4_096
const blockBytes = 65_536

/**
 * Puts the chunks of a body together. Of a known length each is copied when it comes, so that no turn of the event loop
 * copies all of them; of an unknown one, small chunks share blocks, since a body may come byte by byte.
 */
export class Gather {
  readonly #announced: number | undefined
  #chunks: Buffer[] = []
  #whole: Buffer | undefined
  #block: Buffer | undefined
  #blockUsed = 0
  #length = 0

  constructor(announced: number | undefined) {
    this.#announced = announced
  }

  /** Bytes so far. */
  get length(): number {
    return this.#length
  }

  /** What has been put together is in memory of its own. */
  get isCopy(): boolean {
    return this.#whole !== undefined
  }

  /** @param isOurs no other code has the chunk: once it is copied its memory is given back */
  add(chunk: Buffer, isOurs = false): void {
    const announced = this.#announced
    const before = this.#length
    this.#length += chunk.length
    // Node's parser ends a body where it was announced to end; the only chunk of a small one is the body.
    if (announced !== undefined && chunk.length < announced) {
      this.#whole ??= Buffer.allocUnsafeSlow(announced)
      chunk.copy(this.#whole, before)
      if (isOurs) freeMemory(chunk)
    } else if (chunk.length <= smallBytes && this.#chunks.length > 0) this.#addSmall(chunk)
    else this.#addLarge(chunk)
  }

  take(): Buffer {
    if (this.#whole) return this.#whole
    this.#endBlock()
    const chunks = this.#chunks
    this.#chunks = []
    return joined(chunks, this.#length)
  }

  #addLarge(chunk: Buffer): void {
    this.#endBlock()
    this.#chunks.push(chunk)
  }

  #addSmall(chunk: Buffer): void {
    if (this.#block && this.#blockUsed + chunk.length > this.#block.length) this.#endBlock()
    this.#block ??= Buffer.allocUnsafeSlow(blockBytes)
    this.#blockUsed += chunk.copy(this.#block, this.#blockUsed)
  }

  /** What has been put together is a chunk like others; what is left of its memory is used for the next. */
  #endBlock(): void {
    const block = this.#block
    if (!block || this.#blockUsed === 0) return
    this.#chunks.push(block.subarray(0, this.#blockUsed))
    this.#block = block.length - this.#blockUsed > smallBytes ? block.subarray(this.#blockUsed) : undefined
    this.#blockUsed = 0
  }
}
