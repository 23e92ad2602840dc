import type { IncomingMessage } from 'node:http'
import type { Route } from '../domain/index.ts'
import { formatBytes } from '../util/index.ts'
import type { Coding } from './codings.ts'
import { type DecodeFailures, DecodedSource, type Source } from './decode.ts'
import { readBacklog } from './direct-request.ts'
import { fail } from './errors.ts'
import type { Sink } from './transport.ts'

export const stillArriving = 'more data was still arriving'

export function tooLarge(bytesMax: number, path: string, received: string): Error {
  return fail('body_too_large', { max: formatBytes(bytesMax), path, received })
}

/** A compressed body, decompressed. @param count is called with each chunk received */
export function undoCodings(
  req: IncomingMessage,
  codings: readonly Coding[],
  route: Route,
  count: (chunk: Buffer) => void,
): DecodedSource {
  const { bodyBytesMax, path } = route
  const failures: DecodeFailures = {
    tooLarge: max => tooLarge(max, path, 'after decompression'),
    tooDense: ratio => fail('body_too_dense', { ratio }),
    damaged: (coding, isEarly, cause) =>
      fail('body_undecodable', { why: `its ${coding} data ${isEarly ? 'ends too early' : 'is invalid'}` }, { cause }),
    trailing: coding => fail('body_undecodable', { why: `extra bytes follow the end of its ${coding} data` }),
  }
  return new DecodedSource(new PackedBody(req, route, count), codings, bodyBytesMax, failures)
}

/** A body as it arrives, bounded like any other; if it is abandoned, its rest is discarded elsewhere. */
class PackedBody implements Source {
  readonly #req: IncomingMessage
  readonly #route: Route
  readonly #count: (chunk: Buffer) => void
  #stopListening: (() => void) | undefined

  constructor(req: IncomingMessage, route: Route, count: (chunk: Buffer) => void) {
    this.#req = req
    this.#route = route
    this.#count = count
  }

  start(sink: Sink): void {
    const req = this.#req
    const { bodyBytesMax, path } = this.#route
    let bytes = 0
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes > bodyBytesMax) return onCut(tooLarge(bodyBytesMax, path, stillArriving))
      this.#count(chunk)
      sink.data(chunk)
    }
    const onEnd = (): void => {
      this.abort()
      sink.end()
    }
    const onCut = (failure: Error): void => {
      this.abort()
      sink.cut(failure)
    }
    const onClose = (): void => onCut(fail('body_incomplete'))
    this.#stopListening = () => void req.off('data', onData).off('end', onEnd).off('close', onClose)
    const early = readBacklog(req)
    req.on('data', onData).on('end', onEnd).on('close', onClose)
    if (early) onData(early)
  }

  pause(): void {
    this.#req.pause()
  }

  resume(): void {
    if (this.#stopListening) this.#req.resume()
  }

  abort(): void {
    this.#stopListening?.()
    this.#stopListening = undefined
  }
}
