import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Failure, Json } from '../../domain/index.ts'
import type { MessageFormat, MessageRequest, Outcome, RequestContext } from '../../plugin-api/index.ts'
import type { Clock, Ids } from '../../util/index.ts'
import type { Deadlines, Timed } from '../deadlines.ts'
import { fail } from '../errors.ts'
import { ConversationMemory } from './conversation-memory.ts'
import { closeCodeOf, closeCodes } from './frames.ts'
import { type Inner, readEvents } from './inner-request.ts'
import type { WebSocket } from './message-socket.ts'
import { parseObject } from '../../util/index.ts'
import type { ByteClaim } from '../../wire/index.ts'

/** The maximum number of running and waiting requests on one connection. */
const openMax = 16
/** The maximum size of an error response that is read. */
const errorBytesMax = 1024 * 1024
const shownHeaders = /^(?:retry-after|retry-after-ms|x-should-retry|x-request-id|x-ratelimit-.+)$/
const closeMs = 2_000
/** `retry-after` when the memory for bodies is in use. */
const capacityMs = 2_000
/** The head of a short frame of a client, with its mask. */
const controlHeadBytes = 6
/** The maximum number of unsent bytes; with more of them, the client is not read. */
const unsentBytesMax = 1024 * 1024

type JsonObject = { readonly [name: string]: Json }

export type MessageHost = {
  readonly clock: Clock
  readonly ids: Ids
  readonly deadlines: Deadlines
  /** Reserves the memory of received messages until their requests have reserved their own. */
  readonly memory: ByteClaim
  /** The connection under the WebSocket. */
  readonly connection: Duplex
  /** Sends a request with the client's key. */
  send(body: Buffer): Inner
}

/** A WebSocket whose messages are separate requests, each with its own model, limits, hold, charge and log row. */
export class MessageSession implements Timed {
  place = -1
  deadlineAt: number
  readonly done: Promise<Outcome>
  readonly #resolve: (outcome: Outcome) => void
  readonly #host: MessageHost
  readonly #format: MessageFormat
  readonly #socket: WebSocket
  readonly #bounds: NonNullable<RequestContext['route']['session']>
  readonly #memory = new ConversationMemory()
  /** The last request of each lane, because requests of one lane are answered in order. */
  readonly #lanes = new Map<string, Promise<void>>()
  readonly #running = new Set<Inner>()
  #open = 0
  #isDraining = false
  #failure: Failure | undefined
  #isAlive = true
  /** The number of bytes of the message that is arriving. */
  #arrivedBytes = 0
  /** The number of bytes of messages that wait for their lane. */
  #waitingBytes = 0
  readonly #totalAt: number
  #messageAt: number

  constructor(host: MessageHost, { route, dialect }: RequestContext, socket: WebSocket) {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    if (!route.session) throw new Error('a session on a route that has none')
    this.done = promise
    this.#resolve = resolve
    if (!dialect.messages) throw new Error(`the API format '${dialect.name}' has no messages`)
    this.#format = dialect.messages
    this.#host = host
    this.#socket = socket
    this.#bounds = route.session
    const now = host.clock.tick()
    this.#messageAt = now
    this.#totalAt = now + route.session.totalMs
    this.deadlineAt = now + Math.min(route.session.totalMs, route.session.idleMs, route.session.pingMs)
    socket.on('message', (data, isBinary) => this.#read(data as Buffer, isBinary))
    socket.on('pong', data => {
      this.#isAlive = true
      this.#leaveOut(data)
    })
    socket.on('ping', data => {
      this.#leaveOut(data)
      void this.#write(written => socket.pong(data, false, written))
    })
    host.connection.prependListener('data', this.#onData)
    // The library closes the connection with the right code.
    socket.on('error', () => undefined)
    socket.on('close', code => this.#onClose(code))
    host.deadlines.watch(this)
  }

  drain(): void {
    this.#isDraining = true
    if (this.#open === 0) this.#end(closeCodes.restart, fail('draining'))
  }

  stop(failure: Failure): void {
    this.#end(closeCodes.restart, failure)
  }

  end(failure: Failure): void {
    this.#end(closeCodeOf(failure), failure)
  }

  onDeadline(): number | undefined {
    const { idleMs, totalMs, pingMs } = this.#bounds
    const now = this.#host.clock.tick()
    if (this.#open > 0) this.#messageAt = now
    if (now >= this.#totalAt) return this.#end(closeCodes.goingAway, fail('session_expired', { ms: totalMs }))
    if (now >= this.#messageAt + idleMs) return this.#end(closeCodes.normal, fail('session_idle', { ms: idleMs }))
    if (!this.#isAlive) {
      this.#socket.terminate()
      return undefined
    }
    this.#isAlive = false
    this.#socket.ping()
    return Math.min(this.#totalAt, this.#messageAt + idleMs, now + pingMs)
  }

  /** The library keeps the pieces of a message until it is complete. */
  readonly #onData = (chunk: Buffer): void => {
    this.#arrivedBytes += chunk.length
    if (this.#reserve() || this.#failure) return
    this.end(fail('over_capacity', {}, { retryAfterMs: capacityMs }))
    this.#socket.pause()
  }

  #reserve(): boolean {
    return this.#host.memory.hold(this.#arrivedBytes + this.#waitingBytes)
  }

  /** A control frame may arrive between the pieces of a message, and is not kept. */
  #leaveOut(control: Buffer): void {
    this.#arrivedBytes = Math.max(0, this.#arrivedBytes - controlHeadBytes - control.length)
  }

  #read(data: Buffer, isBinary: boolean): void {
    this.#arrivedBytes = 0
    this.#messageAt = this.#host.clock.tick()
    this.#isAlive = true
    const message = isBinary ? undefined : (parseObject(data) as JsonObject | undefined)
    if (!message) return this.#refuse('the message is not a JSON object in a text frame')
    const request = this.#format.readRequest(message)
    if (request.kind === 'unknown')
      return this.#refuse(`'${request.name.slice(0, 64)}' is not a supported message type`)
    if (this.#isDraining) return void this.#say(this.#format.error(fail('draining')), request.lane)
    if (this.#open >= openMax) return this.#refuse(`more than ${openMax} requests are running or waiting`)
    this.#open++
    this.#waitingBytes += data.length
    const { lane = '' } = request
    const before = this.#lanes.get(lane) ?? Promise.resolve()
    const run = before.then(() => this.#run(request, data.length)).finally(() => this.#ended(lane, run))
    this.#lanes.set(lane, run)
  }

  #ended(lane: string, run: Promise<void>): void {
    this.#open--
    if (this.#lanes.get(lane) === run) this.#lanes.delete(lane)
    if (this.#isDraining) this.drain()
  }

  async #run(request: MessageRequest, bytes: number): Promise<void> {
    const { before, lane } = request
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#waitingBytes -= bytes
    this.#reserve()
    const known = before === undefined ? [] : this.#memory.find(before)
    // The upstream may know a stored response, but not one that existed only on this connection.
    if (!known && !request.isStored) return this.#say(this.#format.error(unknownBefore(before)), lane)
    const body = before !== undefined && known ? request.completed(known) : request.body
    const items = known && [...known, ...request.items]
    if (request.isWarmUp) return this.#warmUp(body, items, lane)
    const inner = this.#host.send(Buffer.from(JSON.stringify(body)))
    this.#running.add(inner)
    try {
      await this.#pass(await inner.answer, items, lane)
    } catch {
      await this.#say(this.#format.error(fail('upstream_cut', { reason: 'the request was cut off' })), lane)
    } finally {
      this.#running.delete(inner)
    }
  }

  async #pass(answer: IncomingMessage, items: readonly Json[] | undefined, lane: string | undefined): Promise<void> {
    const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true
    if (!isStream) return this.#say(await this.#readRefusal(answer), lane)
    for await (const text of readEvents(answer as AsyncIterable<Buffer>)) {
      const event = parseObject(text) as JsonObject | undefined
      if (!event) continue
      const end = items && this.#format.readEnd(event)
      if (end) this.#memory.keep(end.id, [...items, ...end.items])
      await this.#say(event, lane)
    }
  }

  /** Stores the input without sending a request. The next request refers to this id, and then includes the input. */
  async #warmUp(body: JsonObject, items: readonly Json[] | undefined, lane: string | undefined): Promise<void> {
    const id = this.#host.ids.next('resp_', this.#host.clock.now())
    if (items) this.#memory.keep(id, items)
    for (const event of this.#format.warmUp(id, body)) await this.#say(event, lane)
  }

  /** Reads a response that is not a stream, which is an error from the gateway or the upstream. */
  async #readRefusal(answer: IncomingMessage): Promise<JsonObject> {
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes <= errorBytesMax) chunks.push(chunk)
    }
    const shown = Object.entries(answer.headers).filter(([name]) => shownHeaders.test(name))
    const headers = Object.fromEntries(shown.map(([name, value]) => [name, String(value)]))
    const error = (parseObject(Buffer.concat(chunks)) as JsonObject | undefined)?.['error']
    const own = this.#format.error(fail('upstream_invalid', { reason: 'the response is not an event stream' }))
    return { ...own, status: answer.statusCode ?? 502, ...(error !== undefined && { error }), headers }
  }

  #refuse(why: string): void {
    void this.#say(this.#format.error(fail('session_request', { why })), undefined)
  }

  /** Sends an event. Resolves once it is written, so that a slow client slows down the response. */
  #say(event: JsonObject, lane: string | undefined): Promise<void> {
    const text = JSON.stringify(lane === undefined ? event : this.#format.onLane(event, lane))
    return this.#write(written => this.#socket.send(text, written))
  }

  /** Does not read a client that does not read: its messages, also invalid ones, and its pings are all answered. */
  #write(write: (written: () => void) => void): Promise<void> {
    const socket = this.#socket
    const { promise, resolve } = Promise.withResolvers<void>()
    write(() => {
      if (socket.isPaused && !this.#failure && socket.bufferedAmount <= unsentBytesMax) socket.resume()
      resolve()
    })
    if (socket.bufferedAmount > unsentBytesMax) socket.pause()
    return promise
  }

  #end(code: number, failure: Failure): undefined {
    if (this.#failure) return
    this.#failure = failure
    void this.#say(this.#format.error(failure), undefined)
    this.#socket.close(code, failure.message.slice(0, 100))
    const limit = this.#host.clock.after(closeMs, () => this.#socket.terminate())
    void this.done.then(() => limit.cancel())
  }

  #onClose(code: number): void {
    this.#host.deadlines.forget(this)
    this.#host.connection.off('data', this.#onData)
    this.#host.memory.free()
    for (const one of this.#running) one.abort()
    const failure = this.#failure
    const isPolite = code !== closeCodes.noConnection
    if (failure) this.#resolve({ kind: 'cut', by: 'gateway', status: 101, reach: 'complete', failure })
    else if (isPolite) this.#resolve({ kind: 'answered', status: 101, reach: 'complete' })
    else this.#resolve({ kind: 'cut', by: 'caller', status: 101, reach: 'complete' })
  }
}

function unknownBefore(id = ''): Failure {
  return fail('previous_response_not_found', { id: id.slice(0, 128) }, { param: 'previous_response_id' })
}
