import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { type Message, WireReader } from '../world/http-wire.ts'
import { Random } from '../world/random.ts'
import type { SimSocket } from '../world/sockets.ts'
import type { Door, World } from '../world/world.ts'
import { type Answer, bodyRefusalNames, compose } from './answers.ts'
import type { Arrival, Ask, Wish } from './asks.ts'
import { toolOf } from './callers.ts'
import { Painter } from './pictures.ts'
import { answerIll, effectOf, KeyDesk, secretIn } from './pool.ts'
import type { Sessions } from './sessions.ts'
import { hosts } from './settings.ts'

/** How an answer is sent. */
export const wires = [
  'plain',
  'chunked',
  'pieces',
  'no-length',
  'continue100',
  'processing102',
  'hints103',
  'slow',
  'trailing',
] as const

/** Content codings of a body. */
const packers = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
} as const
export const codings = Object.keys(packers)

/** The vendors: each answers as the request's own random values say, and records what it made. */
export class Upstreams {
  readonly #world: World
  readonly #asks: readonly Ask[]
  readonly #lifeNow: () => number
  readonly #painter = new Painter()
  readonly #states = new Map<string, Door['state']>()
  readonly #sick = new Set<string>()
  /** The desk of vendors with several keys. */
  readonly keys: KeyDesk
  /** The sessions with a model, turn by turn. */
  sessions: Sessions | undefined
  /** Requests that no caller is known to have sent. */
  readonly strays: string[] = []

  constructor(world: World, asks: readonly Ask[], lifeNow: () => number) {
    this.#world = world
    this.#asks = asks
    this.#lifeNow = lifeNow
    this.keys = new KeyDesk(world)
    for (const host of Object.values(hosts))
      world.serve(host, () => ({
        state: this.#states.get(host) ?? 'open',
        accept: socket => this.#accept(host, socket),
      }))
  }

  /** Every picture made, by its number. */
  get painted(): ReadonlyMap<number, Buffer> {
    return this.#painter.painted
  }

  /** From now on connections to a host behave in this way. */
  set(host: string, state: Door['state']): void {
    this.#states.set(host, state)
  }

  /** From now on a host is overloaded, or has recovered. */
  setSick(host: string, isSick: boolean): void {
    if (isSick) this.#sick.add(host)
    else this.#sick.delete(host)
  }

  /** All hosts recover, and are reachable. */
  heal(): void {
    this.#sick.clear()
    this.#states.clear()
    this.keys.heal()
  }

  #accept(host: string, socket: SimSocket): void {
    let session: ((bytes: Buffer) => void) | undefined
    const reader = new WireReader('requests', message => {
      session = this.sessions?.serve(socket, message)
      if (!session) this.#take(host, socket, message)
    })
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => (session ? session(bytes) : reader.push(bytes)))
    socket.on('end', () => socket.end())
  }

  #take(host: string, socket: SimSocket, message: Message): void {
    const text = message.body.toString('latin1')
    const no = Number(/ask (\d+) /.exec(text)?.[1] ?? Number.NaN)
    const ask = this.#asks[no]
    if (!ask) {
      if (!message.first.startsWith('GET /v1/models ')) return void this.strays.push(message.first)
      return this.#show(socket, this.keys.look(message))
    }
    const { wish } = ask
    const random = new Random(wish.seed, `answer ${ask.no} ${ask.arrivals.length}`)
    // A lenient vendor runs any requested tool, in any spelling.
    const requested = toolOf(wish) === undefined ? (wish.shapes[ask.arrivals.length] ?? 'data') : 'drawn'
    const shape = this.#sick.has(host) ? 'error503' : requested
    const stream = /"stream":\s?true|name="stream"\r\n\r\ntrue/.test(text)
    const includeUsage = /"include_usage":\s?true/.test(text)
    const secret = secretIn(message)
    const ill = secret === undefined ? undefined : this.keys.illOf(secret)
    const answer =
      ill === undefined || secret === undefined
        ? compose(shape, { wish, random, painter: this.#painter, asked: { stream, includeUsage } })
        : answerIll(ill, secret, stream, random)
    if (ill !== undefined) this.#world.mark(`a key is ill: ${ill}`)
    const arrival: Arrival = {
      at: this.#world.time.tick,
      host,
      life: this.#lifeNow(),
      shape: ill ?? shape,
      secret,
      ill,
      made: answer.breaks === undefined ? answer.made : madeBefore(answer),
      known: answer.known,
      refusal: ill === undefined ? isRefusal(answer, shape) : effectOf(ill) !== 'maybe',
      failed: answer.status >= 400 || ill !== undefined,
      usage: answer.usage,
      odd: answer.odd,
      textBytes: answer.textBytes ?? 0,
      requestBytes: message.body.length,
      body: answer.pieces.join(''),
      wholeAt: undefined,
      cutOffAt: undefined,
    }
    ask.arrivals.push(arrival)
    this.#world.mark(`shape: ${wish.operation} ${shape}`)
    this.#world.mark(`wire: ${wish.wire}`)
    if (wish.coding !== undefined) this.#world.mark(`packed: ${wish.coding}`)
    socket.once('close', () => {
      if (arrival.wholeAt === undefined) arrival.cutOffAt = this.#world.time.tick
    })
    // Refusals about a key are sent as vendors do: without a coding, and without a slow connection.
    const wire = ill !== undefined && wish.wire === 'slow' ? 'plain' : wish.wire
    const sent = ill === undefined ? wish : { ...wish, wire, coding: undefined }
    new Delivery(this.#world, socket, sent, answer, arrival, random).begin()
  }

  #show(socket: SimSocket, text: string | undefined): void {
    if (text !== undefined) this.#world.time.after(30, 'upstream says', () => void socket.write(text), null)
  }
}

function isRefusal({ status }: Answer, shape: string): boolean {
  return [429, 503].includes(status) || bodyRefusalNames.includes(shape)
}

/** An answer that breaks off may have been made completely: a client that received it has it. */
function madeBefore(answer: Answer): Answer['made'] {
  return answer.breaks === 'amid' ? answer.made : []
}

/** One answer on its way. */
class Delivery {
  readonly #world: World
  readonly #socket: SimSocket
  readonly #wish: Wish
  readonly #answer: Answer
  readonly #arrival: Arrival
  readonly #random: Random
  readonly #pieces: readonly Piece[]
  #at = 0

  constructor(world: World, socket: SimSocket, wish: Wish, answer: Answer, arrival: Arrival, random: Random) {
    this.#world = world
    this.#socket = socket
    this.#wish = wish
    this.#answer = answer
    this.#arrival = arrival
    this.#random = random
    const { coding } = wish
    this.#pieces = coding === undefined ? answer.pieces : pack(answer.pieces, coding, random)
  }

  begin(): void {
    const { breaks } = this.#answer
    this.#at = 20 + this.#random.int(4_000)
    if (this.#wish.wire === 'slow') this.#at += this.#random.int(200_000)
    if (breaks === 'never') return
    if (breaks === 'before') return this.#then(() => this.#socket.destroy(new Error('gone')))
    this.#greet()
    this.#write()
  }

  /** Informational responses before the answer, requested or not (RFC 9110 15.2). */
  #greet(): void {
    const first = { continue100: '100 Continue', processing102: '102 Processing', hints103: '103 Early Hints' }
    const line = first[this.#wish.wire as keyof typeof first]
    if (line === undefined) return
    this.#say(`HTTP/1.1 ${line}\r\n${line.startsWith('103') ? 'link: </x>; rel=preload\r\n' : ''}\r\n`)
    this.#at += this.#random.int(600)
  }

  #write(): void {
    const { breaks } = this.#answer
    const pieces = this.#pieces
    const isChunked = this.#isChunked
    this.#say(this.#head(isChunked))
    const cutAt = breaks === 'amid' ? this.#random.int(pieces.length + 1) : undefined
    for (const [i, piece] of pieces.entries()) {
      if (i === cutAt) return this.#cut(piece, isChunked)
      this.#at += this.#random.int(this.#wish.wire === 'slow' ? 20_000 : 1_500)
      for (const part of this.#split(piece)) if (part.length > 0) this.#say(isChunked ? chunk(part) : part)
    }
    if (cutAt !== undefined) return this.#cut('', isChunked)
    if (isChunked) this.#say('0\r\n\r\n')
    this.#then(() => {
      this.#arrival.wholeAt = this.#world.time.tick
      if (!this.#hasEnd) this.#socket.end()
    })
  }

  get #isChunked(): boolean {
    const { wire } = this.#wish
    return wire === 'chunked' || (this.#answer.type === 'text/event-stream' && wire !== 'no-length')
  }

  /** The answer marks its own end. */
  get #hasEnd(): boolean {
    return this.#wish.wire !== 'no-length' || this.#isChunked
  }

  #head(isChunked: boolean): string {
    const { status, type, headers = {} } = this.#answer
    const { coding } = this.#wish
    const tail = this.#tail.length * this.#pieces.length
    const bytes = this.#pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0) + tail
    const framing = isChunked ? 'transfer-encoding: chunked\r\n' : `content-length: ${bytes}\r\n`
    const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const packed = coding === undefined ? '' : `content-encoding: ${coding}\r\n`
    return `HTTP/1.1 ${status} Said\r\ncontent-type: ${type}\r\n${packed}${this.#hasEnd ? framing : ''}${more.join('')}\r\n`
  }

  /** Blanks after the last bracket. */
  get #tail(): string {
    const isPlain = this.#wish.coding === undefined && this.#answer.type === 'application/json'
    return this.#wish.wire === 'trailing' && isPlain ? '\n \n' : ''
  }

  #split(piece: Piece): readonly Piece[] {
    const whole = typeof piece === 'string' ? piece + this.#tail : piece
    if (this.#wish.wire !== 'pieces' || whole.length < 4) return [whole]
    const at = this.#random.int(whole.length)
    return [whole.slice(0, at), whole.slice(at)].filter(part => part.length > 0)
  }

  /** Half of a piece, and then nothing. */
  #cut(piece: Piece, isChunked: boolean): void {
    const half = piece.slice(0, this.#random.int(piece.length + 1))
    if (half.length > 0) this.#say(isChunked ? chunk(half) : half)
    this.#at += 1 + this.#random.int(500)
    this.#then(() => this.#socket.destroy(this.#random.chance(0.5) ? new Error('gone') : undefined))
  }

  #say(text: Piece): void {
    this.#then(() => {
      if (!this.#socket.destroyed) this.#socket.write(text)
    })
  }

  /** In order, even if two are due at the same time. */
  #then(run: () => void): void {
    this.#at += 0.001
    this.#world.time.after(this.#at, 'upstream says', run, null)
  }
}

type Piece = string | Buffer

function chunk(piece: Piece): Buffer {
  return Buffer.concat([
    Buffer.from(`${Buffer.byteLength(piece).toString(16)}\r\n`),
    Buffer.from(piece as string),
    Buffer.from('\r\n'),
  ])
}

/** A body compressed as a whole, in as many pieces as the original. */
function pack(pieces: readonly string[], coding: string, random: Random): readonly Piece[] {
  const packer = packers[coding as keyof typeof packers]
  const packed = packer(Buffer.from(pieces.join('')))
  const cuts = Array.from({ length: pieces.length - 1 }, () => random.int(packed.length + 1)).sort((a, b) => a - b)
  return [0, ...cuts].map((from, i) => packed.subarray(from, cuts[i] ?? packed.length))
}
