import type { Readable } from 'node:stream'
import { Failure } from '../../src/kit/index.ts'
import { fail } from './errors.ts'

/** What one upload may take of a turn of the event loop, so that others get theirs. */
const turnBytes = 65_536
/** Chunks from this size on are freed by hand. */
const freedBytesMin = 16_384

/**
 * Gives every chunk of a stream to `take`, and at most 64 KiB or one chunk in a turn. Where `take` returns a promise,
 * nothing more is read until it settles. A chunk is gone after the turn: what is kept of it has to be copied. When anything fails the stream is left paused, neither drained nor destroyed.
 * @throws what `take` throws, the Failure that the stream was destroyed with, or Failure form_incomplete when it broke off
 */
export function takeChunks(source: Readable, take: (chunk: Buffer) => Promise<void> | undefined): Promise<void> {
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
      // Left to the collector, the 30 MB of an upload count as growth of the heap and bring on a full collection: with
      // eight at once a sixth of the CPU, and 60 MB more resident.
      for (const chunk of taken) (chunk.buffer as ArrayBuffer).transfer(0)
      taken = []
      takenBytes = 0
      if (!over) source.resume()
    })
  const onData = (chunk: Buffer) => {
    try {
      waiting = take(chunk)
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
  // A paused stream may still announce its end while the last chunk is being written.
  const onEnd = () => (waiting ? waiting.then(() => stop(resolve), refuse) : stop(resolve))
  const onClose = () => source.readableEnded || refuse(fail('form_incomplete'))

  // Stays for good: whoever drains the rest may destroy the stream, and an error that nobody hears ends the process.
  source.on('error', broke)
  if (source.errored) broke(source.errored)
  else if (source.destroyed || source.readableEnded) refuse(fail('form_incomplete'))
  else source.on('data', onData).on('end', onEnd).on('close', onClose).resume()
  return promise
}

/** Whether a chunk is large and no slice of something larger, such as Node's pool. */
function ownsMemory(chunk: Buffer): boolean {
  return chunk.length >= freedBytesMin && chunk.length === chunk.buffer.byteLength
}
