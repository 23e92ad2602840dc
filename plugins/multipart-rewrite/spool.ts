import { ftruncate, read, write } from 'node:fs'
import { promisify } from 'node:util'
import type { Awaitable } from '../../src/plugin-api/index.ts'
import { blockBytes, giveBlock, takeBlock } from './block-pool.ts'
import { fail } from './errors.ts'
import type { SpoolFile, SpoolFiles } from './spool-folder.ts'

const writeFile = promisify(write)
const readFile = promisify(read)
const truncateFile = promisify(ftruncate)

/** Maximum bytes of one form in memory. */
export const heldBytesMax = 1024 * 1024
/** The first block of a form of unknown length. */
const firstBytes = 64 * 1024

const nothing = Buffer.alloc(0)

/**
 * The contents of one form, one after another: in memory up to 1 MiB, else in a file. Appended bytes are copied, so
 * that neither a network buffer nor thousands of tiny ones are held. Reading begins after `finish`.
 */
export class Spool {
  readonly #files: SpoolFiles
  readonly #bytesMax: number
  /** Full blocks that stay in memory or wait to be written. */
  #blocks: Buffer[] = []
  #tail: Buffer
  #used = 0
  #bytes = 0
  #onDisk: boolean
  #file: SpoolFile | undefined
  #written = 0
  #writing: Promise<void> | undefined
  #failed = false
  /**
   * File operations in progress: until they end the descriptor may not be closed, because it could then belong to
   * another file.
   */
  #calls = 0
  #discarded = false

  /**
   * @param expected bytes that may arrive, if known
   * @param bytesMax maximum bytes that may arrive
   */
  constructor(files: SpoolFiles, expected: number | undefined, bytesMax: number) {
    this.#files = files
    this.#bytesMax = bytesMax
    this.#onDisk = expected !== undefined && expected > heldBytesMax
    this.#tail = this.#onDisk ? takeBlock() : Buffer.allocUnsafeSlow(expected ?? firstBytes)
  }

  /** The number of appended bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the contents are in a file. */
  get onDisk(): boolean {
    return this.#onDisk
  }

  append(chunk: Buffer): void {
    this.#bytes += chunk.length
    for (let at = 0; at < chunk.length; ) {
      if (this.#used === this.#tail.length) this.#turn(takeBlock())
      const copied = chunk.copy(this.#tail, this.#used, at)
      this.#used += copied
      at += copied
    }
    if (this.#bytes > heldBytesMax) this.#onDisk = true
    if (this.#onDisk && this.#blocks.length > 0 && !this.#writing) {
      this.#writing = this.#write()
      // The caller gets the error from `backlog` or `finish`, unless it has given up before.
      this.#writing.catch(() => undefined)
    }
  }

  /** Resolves when the disk has caught up; undefined if it has. Rejects with a Failure after a disk error. */
  backlog(): Promise<void> | undefined {
    return this.#failed || this.#blocks.length > 0 ? this.#writing : undefined
  }

  /** Resolves when everything appended is stored. @throws Failure form_spool_failed */
  async finish(): Promise<void> {
    this.#turn(nothing)
    if (!this.#onDisk) return
    await this.#writing
    this.#writing = this.#write()
    await this.#writing
    await this.#shorten()
  }

  /**
   * Reads 1 to `most` bytes from a position on. Bytes in memory are returned as a view and must not be changed; bytes
   * on disk are read, all of them, into the buffer from `target`, of at least `blockBytes`.
   */
  read(at: number, most: number, target?: () => Buffer): Awaitable<Buffer> {
    if (this.#discarded) throw new Error('a form was read after it was discarded')
    return this.#onDisk ? this.#readFile(at, Math.min(most, blockBytes), target) : this.#readBlock(at, most)
  }

  /** Frees memory and disk. Idempotent; reads in progress end first. */
  discard(): void {
    this.#discarded = true
    if (this.#onDisk) giveBlock(this.#tail)
    this.#blocks = []
    this.#tail = nothing
    this.#used = 0
    this.#close()
  }

  /** Adds the tail to the full blocks and begins another. */
  #turn(next: Buffer): void {
    if (this.#used > 0) this.#blocks.push(this.#tail.subarray(0, this.#used))
    this.#tail = next
    this.#used = 0
  }

  /** Bytes of an earlier upload after the end would take disk space that is not counted. */
  async #shorten(): Promise<void> {
    const file = this.#file
    if (!file || file.bytes <= this.#written) return
    try {
      await this.#call(truncateFile(file.fd, this.#written))
      this.#file = { fd: file.fd, bytes: this.#written }
    } catch (error) {
      this.#failed = true
      throw spoolFailure(error)
    } finally {
      this.#close()
    }
  }

  async #write(): Promise<void> {
    try {
      this.#file ??= await this.#call(this.#files.take(this.#bytesMax))
      const { fd } = this.#file
      for (let block = this.#blocks.shift(); block && !this.#discarded; block = this.#blocks.shift()) {
        for (let at = 0; at < block.length; ) {
          const { bytesWritten } = await this.#call(writeFile(fd, block, at, block.length - at, this.#written))
          this.#written += bytesWritten
          at += bytesWritten
        }
        giveBlock(block)
      }
      this.#writing = undefined
    } catch (error) {
      this.#blocks = []
      this.#failed = true
      throw spoolFailure(error)
    } finally {
      this.#close()
    }
  }

  #readBlock(at: number, most: number): Buffer {
    let start = 0
    for (const block of this.#blocks) {
      if (at < start + block.length) return block.subarray(at - start, at - start + most)
      start += block.length
    }
    throw new RangeError(`a form of ${this.#bytes} bytes was read at ${at}`)
  }

  async #readFile(at: number, most: number, give: () => Buffer = () => Buffer.allocUnsafeSlow(most)): Promise<Buffer> {
    // There may be bytes of an earlier upload after the end.
    if (at + most > this.#written) throw new RangeError(`a form of ${this.#bytes} bytes was read at ${at}`)
    const target = give()
    try {
      let read = 0
      while (read < most) {
        const { bytesRead } = await this.#call(
          readFile((this.#file as SpoolFile).fd, target, read, most - read, at + read),
        )
        if (bytesRead === 0) throw new RangeError(`a form of ${this.#bytes} bytes was read at ${at}`)
        read += bytesRead
      }
      return target.subarray(0, most)
    } finally {
      this.#close()
    }
  }

  async #call<T>(call: Promise<T>): Promise<T> {
    this.#calls++
    try {
      return await call
    } finally {
      this.#calls--
    }
  }

  #close(): void {
    const file = this.#file
    if (!this.#discarded || this.#calls > 0 || file === undefined) return
    this.#file = undefined
    if (this.#failed) this.#files.drop(file)
    else this.#files.give({ fd: file.fd, bytes: Math.max(file.bytes, this.#written) })
  }
}

function spoolFailure(error: unknown): Error {
  const reason = (error as NodeJS.ErrnoException).code ?? 'unknown'
  return fail('form_spool_failed', { reason }, { cause: error, retryAfterMs: 5_000 })
}
