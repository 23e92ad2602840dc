import type { Readable } from 'node:stream'
import { Failure } from '../../src/plugin-api/index.ts'
import { freeMemory, ownsMemory } from '../../src/wire/index.ts'
import { fail } from './errors.ts'

/** Maximum bytes of one upload in a turn of the event loop, so that others get their share. */
const turnBytes = 65_536

/** Receives the chunks of a stream. */
export type ChunkTaker = {
  /** If it returns a promise, nothing more is read until that settles. */
  take(chunk: Buffer): Promise<void> | undefined
  /** Whether it no longer needs any of the received chunks: their memory is freed after the turn. */
  readonly isCopied: boolean
}

/**
 * Passes every chunk of a stream to a taker, and at most 64 KiB or one chunk in a turn. After an error the stream is
 * left paused, neither drained nor destroyed.
 * @throws the error of `take`, the Failure that the stream was destroyed with, or Failure form_incomplete if the stream
 * was cut
 */
export function takeChunks(source: Readable, taker: ChunkTaker): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let taken: Buffer[] = []
  let takenBytes = 0
  let over = false
  let waiting: Promise<void> | undefined

  const stop = (settle: () => void) => {
    if (over) return
    over = true
    source.off('data', onData).off('end', onEnd).off('close', onClose)
    source.pause()
    settle()
  }
  const refuse = (error: unknown) => stop(() => reject(error))
  const broke = (error: Error) =>
    refuse(error instanceof Failure ? error : fail('form_incomplete', {}, { cause: error }))
  const goOn = () =>
    setImmediate(() => {
      if (taker.isCopied) for (const chunk of taken) freeMemory(chunk)
      taken = []
      takenBytes = 0
      if (!over) source.resume()
    })
  const onData = (chunk: Buffer) => {
    try {
      waiting = taker.take(chunk)
    } catch (error) {
      return refuse(error)
    }
    if (ownsMemory(chunk)) taken.push(chunk)
    takenBytes += chunk.length
    if (!waiting && takenBytes < turnBytes) return
    source.pause()
    if (waiting) waiting.then(goOn, refuse)
    else goOn()
  }
  // A paused stream may still emit its end while the last chunk is being written.
  const onEnd = () => (waiting ? waiting.then(() => stop(resolve), refuse) : stop(resolve))
  const onClose = () => source.readableEnded || refuse(fail('form_incomplete'))

  // Stays attached: the code that drains the rest may destroy the stream, and an unhandled error ends the process.
  source.on('error', broke)
  if (source.errored) broke(source.errored)
  else if (source.destroyed || source.readableEnded) refuse(fail('form_incomplete'))
  else source.on('data', onData).on('end', onEnd).on('close', onClose).resume()
  return promise
}
