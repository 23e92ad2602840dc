import type { IncomingMessage, ServerResponse } from 'node:http'
import { Transform, type TransformCallback } from 'node:stream'
import type { Body, JsonObjectView, Route } from '../domain/index.ts'
import { isPromise } from '../util/index.ts'
import { type ByteClaim, freeMemory } from '../wire/index.ts'
import { codingNames, type Coding, parseCodings } from './codings.ts'
import type { Deadlines, Timed } from './deadlines.ts'
import type { DecodedSource } from './decode.ts'
import { type BodyTaker, DirectRequest, readBacklog } from './direct-request.ts'
import { fail } from './errors.ts'
import { scanObjectInTurns } from './fields.ts'
import { Gather } from './gather.ts'
import { stillArriving, tooLarge, undoCodings } from './packed-body.ts'
import { SocketRest } from './rest-socket.ts'
import type { Stopwatch } from './event-loop-watch.ts'

/** A body of which at most `bytes` arrive in `ms` is abandoned. */
export type BodyPace = { readonly bytes: number; readonly ms: number }
/** How slow a body may be, and the watch over it. */
export type BodyPatience = { readonly deadlines: Deadlines; readonly pace: BodyPace }
/** 1 KiB a second, over half a minute (`docs/security.md#request-limits`). */
export const bodyPace: BodyPace = { bytes: 30 * 1024, ms: 30_000 }
/** Smaller chunks of a form that arrive in one turn are passed on together. */
const smallBytes = 1_024
const gatheredBytes = 16_384
/** A body of unknown length reserves memory in steps of this size. */
const growBytes = 65_536

/** A body and what has to be released at the end of the request. */
export type IncomingBody = {
  readonly body: Body
  /** @param isUnread no code reads the body any more, not even a pending write: its memory may be freed at once */
  release(isUnread: boolean): void
}

const abandoned = new Error('the body has no reader any more')
const nothing: IncomingBody = { body: { kind: 'none' }, release: () => undefined }

/**
 * Reads the body that the route declares: nothing, one JSON object in memory, or the unread bytes of a form or of any content. Bytes
 * received are counted, with or without Content-Length. A compressed body is decoded.
 * @param memory reserves the body's memory before it is read, until it is released
 * @throws Failure body_unexpected, unsupported_content_type, unsupported_content_encoding, body_too_large,
 * body_too_dense, body_undecodable, invalid_json, body_incomplete, body_too_slow, over_capacity
 */
export function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  route: Route,
  memory: ByteClaim,
  patience: BodyPatience,
  stopwatch: Stopwatch,
): IncomingBody | Promise<IncomingBody> {
  const announced = announcedBytes(req)
  if (route.body === 'none') {
    if (announced !== 0) throw fail('body_unexpected', { method: route.method, path: route.path })
    return nothing
  }
  const packed = req.headers['content-encoding']
  const codings = packed === undefined ? undefined : readCodings(packed)
  const kind = checkType(req, route)
  if (announced === 0) {
    if (kind === 'any') return nothing
    throw fail('body_missing')
  }
  if (announced !== undefined && announced > route.bodyBytesMax)
    throw tooLarge(route.bodyBytesMax, route.path, `content-length is ${announced} bytes`)
  if (kind === 'json') {
    if (!memory.hold(announced ?? 0)) throw noRoom()
    const intake = new JsonIntake(req, route, { announced, codings }, memory, patience, stopwatch)
    if (waitsForContinue(req)) res.writeContinue()
    intake.begin()
    return intake.done
  }
  const source = new CountedBody(req, res, route, codings, patience, stopwatch)
  return {
    body: {
      kind: 'stream',
      source,
      contentType: req.headers['content-type'] ?? '',
      bytes: codings ? undefined : announced,
    },
    release: () => source.release(),
  }
}

/** Content-Length; 0 without a body; undefined if it is chunked. */
function announcedBytes(req: IncomingMessage): number | undefined {
  if (req.headers['transfer-encoding'] !== undefined) return undefined
  return Number(req.headers['content-length'] ?? 0)
}

const wanted = {
  json: 'a JSON body (content-type: application/json)',
  form: 'a form (content-type: multipart/form-data)',
  'form-or-json': 'a form (content-type: multipart/form-data) or a JSON body (content-type: application/json)',
} as const

/** The codings to decode; undefined if there are none. @throws Failure unsupported_content_encoding */
function readCodings(packed: string): readonly Coding[] | undefined {
  const codings = parseCodings(packed)
  if (codings) return codings.length > 0 ? codings : undefined
  // RFC 9110 15.5.16 names the header that lists what is accepted.
  throw fail(
    'unsupported_content_encoding',
    { found: packed.slice(0, 40), known: codingNames },
    { headers: { 'accept-encoding': codingNames } },
  )
}

/** The kind of the body, by its content type. @throws Failure unsupported_content_type */
function checkType(req: IncomingMessage, route: Route): 'json' | 'form' | 'any' {
  if (route.body === 'any') return 'any'
  const found = (req.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const isJson = found === 'application/json' || /^application\/[\w.-]+\+json$/.test(found)
  if (isJson && route.body !== 'form') return 'json'
  if (found === 'multipart/form-data' && route.body !== 'json') return 'form'
  throw fail('unsupported_content_type', {
    path: route.path,
    wanted: wanted[route.body as keyof typeof wanted],
    found: found === '' ? 'missing' : `'${found.slice(0, 80)}'`,
  })
}

/** A JSON body while it is read into memory, and the memory reserved until it is released. */
class JsonIntake implements BodyTaker, IncomingBody {
  readonly done: Promise<IncomingBody>
  readonly #req: IncomingMessage
  readonly #route: Route
  readonly #memory: ByteClaim
  readonly #stopwatch: Stopwatch
  readonly #gather: Gather
  readonly #unpacked: DecodedSource | undefined
  readonly #rest: SocketRest
  readonly #watch: PaceWatch
  #resolve!: (taken: IncomingBody) => void
  #reject!: (error: unknown) => void
  #stopListening: (() => void) | undefined
  #isOver = false
  #isDirect = false
  #body: Body = nothing.body

  constructor(
    req: IncomingMessage,
    route: Route,
    { announced, codings }: { announced: number | undefined; codings: readonly Coding[] | undefined },
    memory: ByteClaim,
    patience: BodyPatience,
    stopwatch: Stopwatch,
  ) {
    this.#req = req
    this.#route = route
    this.#memory = memory
    this.#stopwatch = stopwatch
    this.#gather = new Gather(codings ? undefined : announced)
    this.#unpacked = codings && undoCodings(req, codings, route, chunk => this.#count(chunk))
    this.#rest = new SocketRest(req.socket)
    this.#watch = new PaceWatch(patience, () => this.#giveUp(tooSlow(patience.pace)))
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  get body(): Body {
    return this.#body
  }

  release(isUnread: boolean): void {
    if (isUnread && this.#gather.isCopy && this.#body.kind === 'json') freeMemory(this.#body.json.bytes)
    this.#body = nothing.body
    this.#memory.free()
  }

  begin(): void {
    const req = this.#req
    // The client left while a hook waited: no further events are handled.
    if (req.destroyed) return this.gone()
    if (this.#unpacked)
      return this.#unpacked.start({
        data: chunk => this.#keep(chunk, false),
        end: () => this.end(),
        cut: error => this.#giveUp(error),
      })
    this.#isDirect = req instanceof DirectRequest && req.handTo(this)
    if (this.#isDirect) return
    const early = readBacklog(req)
    if (early) this.data(early)
    if (!this.#isOver) this.#listen()
  }

  #listen(): void {
    const [onData, onEnd, onClose] = [this.data.bind(this), this.end.bind(this), this.gone.bind(this)]
    const req = this.#req.on('data', onData).on('end', onEnd).on('close', onClose)
    this.#stopListening = () => void req.off('data', onData).off('end', onEnd).off('close', onClose)
  }

  data(chunk: Buffer): void {
    this.#count(chunk)
    // In another program's server other listeners may exist.
    this.#keep(chunk, this.#isDirect || this.#req.listenerCount('data') < 2)
  }

  /** A chunk has arrived, compressed or not. */
  #count(chunk: Buffer): void {
    this.#watch.count(chunk.length)
    this.#rest.count()
  }

  /** @param isOurs no other code has the chunk */
  #keep(chunk: Buffer, isOurs: boolean): void {
    const size = this.#gather.length + chunk.length
    if (size > this.#route.bodyBytesMax)
      return this.#giveUp(tooLarge(this.#route.bodyBytesMax, this.#route.path, stillArriving))
    const { bytes } = this.#memory
    if (size > bytes && !this.#memory.hold(Math.max(size, bytes + growBytes))) return this.#giveUp(noRoom())
    this.#gather.add(chunk, isOurs)
  }

  end(): void {
    this.#stop()
    this.#stopwatch.start()
    try {
      const bytes = this.#gather.take()
      const reading = scanObjectInTurns(bytes, slice => this.#stopwatch.run('body', slice))
      if (isPromise(reading)) reading.then(this.#read, error => this.#giveUp(error))
      else this.#read(reading)
    } catch (error) {
      this.#giveUp(error)
    }
    this.#stopwatch.stop('body')
  }

  gone(): void {
    this.#giveUp(fail('body_incomplete'))
  }

  readonly #read = (json: JsonObjectView): void => {
    this.#body = { kind: 'json', json }
    this.#resolve(this)
  }

  #stop(): void {
    this.#isOver = true
    this.#watch.stop()
    this.#stopListening?.()
    // The rest of an abandoned body is read and discarded, as a stream.
    if (this.#req instanceof DirectRequest) this.#req.keep()
  }

  #giveUp(error: unknown): void {
    this.#stop()
    this.#unpacked?.abort(abandoned)
    this.#memory.free()
    this.#reject(error)
  }
}

/** How much of the reserved memory a body occupies: half, if there is more than that. */
export function paidBytes(bytes: number, memoryBytesMax: number): number {
  return Math.min(bytes, memoryBytesMax / 2)
}

export function noRoom(): Error {
  return fail('over_capacity', {}, { retryAfterMs: 2_000 })
}

/**
 * Passes a form's bytes on and counts them; ends with a Failure if there are too many, too few, or none for too long.
 * The client gets no 100 Continue before a plugin reads: a plugin may refuse a form unread, and a client that waits
 * for `100 Continue` is to be refused before it uploads.
 */
class CountedBody extends Transform {
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #route: Route
  readonly #patience: BodyPatience
  readonly #stopwatch: Stopwatch
  readonly #rest: SocketRest
  readonly #unpacked: DecodedSource | undefined
  #watch: PaceWatch | undefined
  #bytes = 0
  /** Small chunks of this turn. */
  #block: Buffer | undefined
  #used = 0

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    route: Route,
    codings: readonly Coding[] | undefined,
    patience: BodyPatience,
    stopwatch: Stopwatch,
  ) {
    super({ readableHighWaterMark: 65_536, writableHighWaterMark: 65_536 })
    this.#req = req
    this.#res = res
    this.#route = route
    this.#patience = patience
    this.#stopwatch = stopwatch
    this.#rest = new SocketRest(req.socket)
    this.#unpacked = codings && undoCodings(req, codings, route, chunk => this.#count(chunk))
    // A reader gets the error; without one, an unhandled error would end the process.
    this.on('error', () => undefined)
  }

  /** The rest will not be read. Idempotent. */
  release(): void {
    this.#leave()
    this.destroy()
  }

  /** Listeners are called inside it. */
  override read(size?: number): Buffer | null {
    return this.#stopwatch.run('body', () => super.read(size) as Buffer | null)
  }

  override _read(size: number): void {
    if (!this.#watch) this.#begin()
    super._read(size)
  }

  #begin(): void {
    const req = this.#req
    const watch = new PaceWatch(this.#patience, () => this.#giveUp(tooSlow(this.#patience.pace)))
    this.#watch = watch
    this.once('close', () => watch.stop()).once('end', () => watch.stop())
    // Complete means arrived; a body that can no longer be read has not arrived.
    req.once('close', () => {
      if (!req.readableEnded) this.#giveUp(fail('body_incomplete'))
    })
    if (req.destroyed && !req.readableEnded) return this.#giveUp(fail('body_incomplete'))
    if (waitsForContinue(req)) this.#res.writeContinue()
    if (this.#unpacked) return this.#unpack(this.#unpacked)
    const early = readBacklog(req)
    req.on('data', this.#onData).once('end', this.#onEnd)
    this.on('drain', this.#onDrain)
    if (early) this.#onData(early)
  }

  #unpack(unpacked: DecodedSource): void {
    this.on('drain', () => unpacked.resume())
    unpacked.start({
      data: chunk => {
        if (!this.write(chunk)) unpacked.pause()
      },
      end: this.#onEnd,
      cut: failure => this.#giveUp(failure),
    })
  }

  /** A chunk has come, packed or not. */
  #count(chunk: Buffer): void {
    this.#watch?.count(chunk.length)
    this.#rest.count()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#rest.count()
    if (!this.write(chunk)) this.#req.pause()
  }

  readonly #onEnd = (): void => void this.end()

  /** Pipe would pass on what has arrived meanwhile chunk by chunk, in one turn. */
  readonly #onDrain = (): void => {
    if (this.destroyed) return
    // Passed to `onData` like any other chunk, which may pause again.
    readBacklog(this.#req)
    if (!this.writableNeedDrain) this.#req.resume()
  }

  #leave(): void {
    this.#unpacked?.abort(abandoned)
    this.#req.off('data', this.#onData).off('end', this.#onEnd)
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#bytes += chunk.length
    if (!this.#unpacked) this.#watch?.count(chunk.length)
    if (this.#bytes > this.#route.bodyBytesMax)
      return done(tooLarge(this.#route.bodyBytesMax, this.#route.path, stillArriving))
    this.#stopwatch.run('body', () => {
      if (chunk.length < smallBytes) this.#gather(chunk)
      else {
        this.#pushGathered()
        this.push(chunk)
      }
      done()
    })
  }

  override _flush(done: TransformCallback): void {
    this.#pushGathered()
    done()
  }

  #gather(chunk: Buffer): void {
    if (this.#used + chunk.length > gatheredBytes) this.#pushGathered()
    if (!this.#block) {
      this.#block = Buffer.allocUnsafeSlow(gatheredBytes)
      setImmediate(() => this.#stopwatch.run('body', () => this.#pushGathered()))
    }
    this.#used += chunk.copy(this.#block, this.#used)
  }

  #pushGathered(): void {
    const block = this.#block
    if (!block) return
    const used = this.#used
    this.#block = undefined
    this.#used = 0
    if (!this.destroyed && !this.readableEnded) this.push(block.subarray(0, used))
  }

  #giveUp(failure: Error): void {
    this.#leave()
    this.destroy(failure)
  }
}

/** Fires once if too few bytes arrive in time; the time restarts each time that enough have arrived. */
class PaceWatch implements Timed {
  place = -1
  deadlineAt: number
  readonly onDeadline: () => void
  readonly #deadlines: Deadlines
  readonly #pace: BodyPace
  #bytes = 0

  constructor({ deadlines, pace }: BodyPatience, onSlow: () => void) {
    this.#deadlines = deadlines
    this.#pace = pace
    this.deadlineAt = deadlines.in(pace.ms)
    this.onDeadline = onSlow
    deadlines.watch(this)
  }

  count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < this.#pace.bytes) return
    this.#bytes = 0
    this.deadlineAt = this.#deadlines.in(this.#pace.ms)
  }

  stop(): void {
    this.#deadlines.forget(this)
  }
}

function tooSlow(pace: BodyPace): Error {
  return fail('body_too_slow', { bytes: pace.bytes, seconds: pace.ms / 1000 })
}

/** HTTP/1.0 has no interim answers. */
function waitsForContinue(req: IncomingMessage): boolean {
  return req.headers.expect !== undefined && req.httpVersionMinor > 0
}
