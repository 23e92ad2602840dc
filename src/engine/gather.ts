import { freeMemory, joined } from '../wire/index.ts'

/** Chunks up to this size are joined: each Buffer costs more than a hundred bytes. */
const smallBytes = 4_096
const blockBytes = 65_536

/**
 * Joins the chunks of a body. With a known length each is copied when it arrives, so that no turn of the event loop
 * copies all of them; with an unknown one, small chunks share blocks, because a body may arrive byte by byte.
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

  /** The joined bytes are in memory of their own. */
  get isCopy(): boolean {
    return this.#whole !== undefined
  }

  /** @param isOurs no other code has the chunk: its memory is released once it is copied */
  add(chunk: Buffer, isOurs = false): void {
    const announced = this.#announced
    const before = this.#length
    this.#length += chunk.length
    // Node's parser ends a body at its announced end; the only chunk of a small one is the body.
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

  /** Joined bytes are a chunk like others; the rest of their memory is used for the next. */
  #endBlock(): void {
    const block = this.#block
    if (!block || this.#blockUsed === 0) return
    this.#chunks.push(block.subarray(0, this.#blockUsed))
    this.#block = block.length - this.#blockUsed > smallBytes ? block.subarray(this.#blockUsed) : undefined
    this.#blockUsed = 0
  }
}
