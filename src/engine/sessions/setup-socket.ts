import type { Body, Failure, Json } from '../../domain/index.ts'
import type { RequestContext, SessionFormat, SetupFormat } from '../../plugin-api/index.ts'
import { type LiveSession, CallerGone } from '../active-request.ts'
import type { Clock } from '../../util/index.ts'
import { fail } from '../errors.ts'
import { scanObject } from '../fields.ts'
import type { CallerSocket } from './caller-socket.ts'
import {
  closeCodeOf,
  closeCodes,
  FrameFault,
  FrameWalker,
  Joiner,
  opcodes,
  unmask,
  writeClose,
  writeFrame,
} from './frames.ts'

/** The time for the client's setup message. */
const setupMs = 10_000
/** The maximum size of a setup message. */
const setupBytesMax = 1024 * 1024
/** The time for the client to close after a close frame. */
const closeMs = 2_000

type JsonObject = { readonly [name: string]: Json }

/** The request in a setup message. */
export type Setup = { readonly request: JsonObject; readonly body: Body; readonly bytes: number }

/**
 * A client's WebSocket that is open before its upstream is known, because the first message contains the model. Until
 * the session starts, an error is a message and a close code, because the response was already sent.
 */
export class SetupSocket implements LiveSession {
  readonly #caller: CallerSocket
  readonly #context: RequestContext
  readonly #format: SessionFormat & { readonly setup: SetupFormat }
  readonly #clock: Clock
  #end: ((error: unknown) => void) | undefined

  constructor(caller: CallerSocket, context: RequestContext, clock: Clock) {
    const { session } = context.dialect
    if (!session?.setup) throw new Error(`sessions of the API format '${context.dialect.name}' have no setup message`)
    this.#caller = caller
    this.#context = context
    this.#format = { ...session, setup: session.setup }
    this.#clock = clock
  }

  drain(): void {
    this.stop(fail('draining'))
  }

  stop(failure: Failure): void {
    this.#end?.(failure)
  }

  end(failure: Failure): void {
    this.stop(failure)
  }

  /**
   * Reads the setup message; later bytes stay in the socket.
   * @param head the 101
   * @throws Failure session_setup, session_message, invalid_json; CallerGone
   */
  async read(head: string): Promise<Setup> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    this.#end = reject
    const limit = this.#clock.after(setupMs, () =>
      reject(fail('session_setup', { why: `it did not arrive within ${setupMs} ms` })),
    )
    const text = new Joiner()
    let end = -1
    const walker = new FrameWalker(
      {
        onPiece: (piece, mask, phase) => void (end < 0 && text.add(unmask(piece, mask, phase))),
        onMessage: (_payload, _bytes, at) => void (end < 0 && (end = at)),
        onClose: () => {
          this.#close(writeClose(closeCodes.normal, '', false))
          reject(new CallerGone())
        },
      },
      { isMasked: true, messageBytesMax: setupBytesMax, keptBytesMax: 0 },
    )
    const data = (chunk: Buffer): void => {
      try {
        walker.read(chunk)
      } catch (error) {
        // A fault after the setup message is reported by the session.
        if (end < 0) return reject(asFailure(error))
      }
      if (end < 0) return
      this.#caller.setAside(chunk.subarray(end))
      resolve(text.take())
    }
    this.#caller.socket.write(head, 'latin1')
    const gone = (): void => {
      // The client may have closed only its half of the connection.
      this.#caller.socket.destroy()
      reject(new CallerGone())
    }
    this.#caller.start({ data, gone, drain: () => undefined })
    try {
      return this.#parse(await promise)
    } finally {
      this.#end = undefined
      limit.cancel()
    }
  }

  #parse(text: Buffer): Setup {
    let message: Json
    try {
      message = JSON.parse(text.toString()) as Json
    } catch {
      throw fail('session_setup', { why: 'it is not JSON' })
    }
    const request = this.#format.setup.read(message)
    if (!request) throw fail('session_setup', { why: 'it has no `setup`' })
    return {
      request,
      body: { kind: 'json', json: scanObject(Buffer.from(JSON.stringify(request))) },
      bytes: text.length,
    }
  }

  /** Sends the failure to the client, and closes. */
  refuse(failure: Failure): void {
    const { socket } = this.#caller
    if (socket.destroyed) return
    const error = Buffer.from(this.#format.error(failure, this.#context.id))
    socket.write(writeFrame(opcodes.text, error, false))
    this.#close(writeClose(closeCodeOf(failure), failure.message, false))
  }

  #close(frame: Buffer): void {
    const { socket } = this.#caller
    socket.end(frame)
    // The client's close frame is read and dropped.
    this.#caller.start({ data: () => undefined, gone: () => undefined, drain: () => undefined })
    const limit = this.#clock.after(closeMs, () => socket.destroy())
    socket.once('close', () => limit.cancel())
  }
}

function asFailure(error: unknown): unknown {
  return error instanceof FrameFault ? fail('session_message', { why: error.message }) : error
}
