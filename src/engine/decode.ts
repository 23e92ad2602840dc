import { type Coding, Unpacker } from './codings.ts'
import type { Sink } from './transport.ts'

/** The most that decoded contents may be as a multiple of the bytes received, beyond what is always allowed. */
const ratioMax = 250
const ratioFreeBytes = 4 * 1024 * 1024
/** The reason that zlib reports if its input ended too soon. */
const endedEarly: ReadonlySet<string> = new Set(['Z_BUF_ERROR'])

/** Descriptions of contents that cannot be decoded. */
export type DecodeFailures = {
  /** They exceed `bytesMax`. */
  tooLarge(bytesMax: number): Error
  /** They exceed `ratio` times the bytes received. */
  tooDense(ratio: number): Error
  /** A coding cannot be read, or its input ends too soon. */
  damaged(coding: Coding, isEarly: boolean, cause: Error): Error
  /** Bytes follow the end of a coding; without this callback they are dropped. */
  trailing?(coding: Coding): Error
}

/** A source of a body's bytes. What it passes on belongs to the sink: it neither keeps nor reads it again. */
export type Source = {
  /** Its chunks do not belong to the sink alone, as those of zlib do not. */
  readonly sharesChunks?: boolean
  /** Begins to pass on the body. */
  start(sink: Sink): void
  pause(): void
  resume(): void
  /** Abandons the body; nothing more reaches the sink. */
  abort(reason: Error): void
}

/**
 * Decodes a compressed body piece by piece, with only the codings' windows and one piece of each in memory. The result
 * is bounded, absolutely and relative to the bytes received.
 */
export class DecodedSource implements Source, Sink {
  readonly sharesChunks = true
  readonly #source: Source
  readonly #bytesMax: number
  readonly #failures: DecodeFailures
  /** In the order of decoding. */
  readonly #layers: readonly Layer[]
  #sink: Sink | undefined
  #received = 0
  #isReceived = false
  #over = false

  /** @param codings in order of application, at least one; `bytesMax` bounds the result */
  constructor(source: Source, codings: readonly Coding[], bytesMax: number, failures: DecodeFailures) {
    this.#source = source
    this.#bytesMax = bytesMax
    this.#failures = failures
    const layers: Layer[] = []
    for (const coding of codings.toReversed()) layers.push(this.#layer(coding, layers, layers.length))
    this.#layers = layers
  }

  start(sink: Sink): void {
    this.#sink = sink
    this.#source.start(this)
  }

  pause(): void {
    this.#layers.at(-1)?.unpacker.pause()
  }

  resume(): void {
    this.#layers.at(-1)?.unpacker.resume()
  }

  abort(reason: Error): void {
    this.#close()
    this.#source.abort(reason)
  }

  data(chunk: Buffer): void {
    if (this.#over) return
    this.#received += chunk.length
    if (this.#layers[0]?.unpacker.write(chunk) === false) this.#source.pause()
  }

  end(): void {
    this.#isReceived = true
    if (!this.#over) this.#layers[0]?.unpacker.end()
  }

  cut(failure: Error): void {
    if (!this.#over) this.#breakOff(0, failure)
  }

  /** What arrived before the break is passed on before it, through every coding. */
  #breakOff(index: number, failure: Error): void {
    const layer = this.#layers[index]
    if (layer) layer.unpacker.breakOff(() => this.#breakOff(index + 1, failure))
    else this.#fail(failure)
  }

  #layer(coding: Coding, layers: readonly Layer[], index: number): Layer {
    const layer: Layer = {
      bytes: 0,
      unpacker: new Unpacker(coding, {
        data: chunk => {
          layer.bytes += chunk.length
          const excess = this.#excess(layer.bytes)
          if (excess) return this.#giveUp(excess)
          const next = layers[index + 1]
          if (!next) this.#sink?.data(chunk)
          else if (!next.unpacker.write(chunk)) layer.unpacker.pause()
        },
        end: () => {
          const trailing = layer.unpacker.hasRest ? this.#failures.trailing?.(coding) : undefined
          if (trailing) return this.#giveUp(trailing)
          const next = layers[index + 1]
          if (next) next.unpacker.end()
          else this.#finish()
        },
        fault: error => this.#giveUp(this.#failures.damaged(coding, isEarly(error), error)),
        drain: () => {
          const before = layers[index - 1]
          if (before) before.unpacker.resume()
          else this.#source.resume()
        },
      }),
    }
    return layer
  }

  #excess(bytes: number): Error | undefined {
    if (bytes > this.#bytesMax) return this.#failures.tooLarge(this.#bytesMax)
    return bytes > ratioFreeBytes && bytes > this.#received * ratioMax ? this.#failures.tooDense(ratioMax) : undefined
  }

  #giveUp(failure: Error): void {
    if (this.#over) return
    this.#source.abort(failure)
    this.#fail(failure)
  }

  #finish(): void {
    const sink = this.#sink
    this.#close()
    // What follows the end of a coding belongs to no answer, and may be endless.
    if (!this.#isReceived) this.#source.abort(new Error('extra bytes after the end of its encoding'))
    sink?.end()
  }

  #fail(failure: Error): void {
    if (this.#over) return
    const sink = this.#sink
    this.#close()
    sink?.cut(failure)
  }

  #close(): void {
    this.#over = true
    this.#sink = undefined
    for (const { unpacker } of this.#layers) unpacker.destroy()
  }
}

type Layer = { readonly unpacker: Unpacker; bytes: number }

function isEarly(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code !== undefined && endedEarly.has(code)
}
