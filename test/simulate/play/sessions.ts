import { createKey } from '../../../src/index.ts'
import { type Message, WireReader } from '../world/http-wire.ts'
import { Random } from '../world/random.ts'
import type { SimSocket } from '../world/sockets.ts'
import { acceptOf, closing, frame, FrameReader } from '../world/web-socket.ts'
import type { World } from '../world/world.ts'
import type { Lives } from './life.ts'

/** A turn of a session, as its vendor and its caller know it. Its output is unique in the world. */
export type Turn = {
  readonly session: number
  readonly input: number
  readonly output: number
  /** The time when the session was opened. */
  readonly openedAt: number
  /** The times when the vendor had ended it, and when its caller received that; undefined for never. */
  toldAt: number | undefined
  gotAt: number | undefined
}

type Place = {
  readonly world: World
  readonly lives: Lives
  connect(): SimSocket
  admin(act: (storage: NonNullable<Lives['gateway']>['storage']) => Promise<void>): Promise<boolean>
}

/** The random values of an operation. */
type Drawn = { readonly count: number; readonly choice: number; readonly lasts: number }

const staysMs = 120_000
/** Long enough to make the vendor's usage report plausible. */
const text = 'a red boat at sea '.repeat(60)

/** Callers who talk with a model, turn by turn, and the vendor of that model. */
export class Sessions {
  readonly turns: Turn[] = []
  keyId: string | undefined
  /** The number opened, and the number that the gateway accepted. */
  opened = 0
  accepted = 0
  readonly #place: Place
  #secret: string | undefined

  constructor(place: Place) {
    this.#place = place
  }

  /**
   * A caller opens one, takes up to `count` turns, and leaves: with a close message, without one, or in the middle of a
   * turn.
   */
  async open({ count, choice, lasts }: Drawn): Promise<void> {
    const { world, lives } = this.#place
    await this.#createKey()
    if (!lives.gateway || this.#secret === undefined) return
    world.mark('session opened')
    new Caller(this.#place, this, {
      number: this.opened++,
      turns: 1 + (count % 6),
      leaves: (['politely', 'at once', 'in a turn'] as const)[choice % 3] ?? 'politely',
      pause: lasts % 5_000,
      secret: this.#secret,
    }).begin()
  }

  /** A key of its own, so that the limits of other keys are not affected. */
  async #createKey(): Promise<void> {
    if (this.#secret !== undefined) return
    await this.#place.admin(async storage => {
      const key = { name: 'talks', user: 'ada', group: 'partner', budget: null, limits: {} }
      const made = await createKey(storage, key, 'world', this.#place.world.random)
      this.keyId = made.key.id
      this.#secret = made.secret
    })
  }

  /** The vendor's side. @returns whether `message` opens a session */
  serve(socket: SimSocket, message: Message): ((bytes: Buffer) => void) | undefined {
    const key = message.headers.get('sec-websocket-key')
    if (key === undefined) return undefined
    const { time } = this.#place.world
    const say = (ms: number, bytes: Buffer | string, then: () => void = () => undefined): void =>
      void time.after(
        ms,
        'upstream says',
        () => {
          if (socket.destroyed) return
          socket.write(bytes)
          then()
        },
        null,
      )
    const head = `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${acceptOf(key)}\r\n\r\n`
    say(20, Buffer.concat([Buffer.from(head), frame('{"type":"session.created","session":{"type":"realtime"}}')]))
    const reader = new FrameReader(({ opcode, payload }) => {
      if (opcode === closing) {
        socket.write(frame(payload, { opcode: closing }))
        socket.end()
        return
      }
      const turn = this.turns[Number(/"turn (\d+)"/.exec(payload.toString())?.[1] ?? Number.NaN)]
      if (!turn) return
      const id = `resp_${turn.output}`
      const usage = { input_tokens: turn.input, output_tokens: turn.output, total_tokens: turn.input + turn.output }
      const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }]
      const random = new Random(turn.output, 'turn')
      const begun = 20 + random.int(500)
      say(begun, frame(JSON.stringify({ type: 'response.created', response: { id, status: 'in_progress' } })))
      const done = { type: 'response.done', response: { id, status: 'completed', output, usage } }
      say(begun + 1 + random.int(3_000), frame(JSON.stringify(done)), () => (turn.toldAt = time.tick))
    })
    return bytes => reader.push(bytes)
  }
}

type Manner = {
  readonly number: number
  readonly turns: number
  readonly leaves: 'politely' | 'at once' | 'in a turn'
  readonly pause: number
  readonly secret: string
}

class Caller {
  readonly #sessions: Sessions
  readonly #world: World
  readonly #socket: SimSocket
  readonly #manner: Manner
  readonly #openedAt: number
  #turn: Turn | undefined
  #taken = 0

  constructor(place: Place, sessions: Sessions, manner: Manner) {
    this.#sessions = sessions
    this.#world = place.world
    this.#manner = manner
    this.#socket = place.connect()
    this.#openedAt = place.world.time.tick
  }

  begin(): void {
    const socket = this.#socket
    const frames = new FrameReader(({ opcode, payload }) => this.#take(opcode, payload))
    const answers = new WireReader('answers')
    let head: Buffer | undefined = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('end', () => socket.end())
    socket.on('data', (bytes: Buffer) => {
      if (!head) return frames.push(bytes)
      head = Buffer.concat([head, bytes])
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return
      const [first, rest] = [head.toString('latin1', 0, 12), head.subarray(end + 4)]
      head = undefined
      if (first !== 'HTTP/1.1 101') {
        answers.push(bytes)
        return
      }
      this.#sessions.accepted++
      this.#world.mark('session accepted')
      frames.push(rest)
    })
    const lines = ['GET /v1/realtime?model=sim-realtime HTTP/1.1', 'host: gateway.sim', 'connection: Upgrade']
    lines.push('upgrade: websocket', 'sec-websocket-version: 13', 'sec-websocket-key: AQIDBAUGBwgJCgsMDQ4PEA==')
    socket.write(`${lines.join('\r\n')}\r\nauthorization: Bearer ${this.#manner.secret}\r\n\r\n`)
    this.#world.time.after(staysMs, 'caller hangs up', () => socket.destroy(), null)
  }

  #take(opcode: number, payload: Buffer): void {
    if (opcode === closing) return void this.#socket.end()
    const type = /"type":"([\w.]+)"/.exec(payload.toString())?.[1]
    if (type === 'session.created') this.#next()
    if (type !== 'response.done' || !this.#turn) return
    this.#turn.gotAt = this.#world.time.tick
    this.#world.mark('turn answered')
    if (this.#taken < this.#manner.turns)
      this.#world.time.after(1 + this.#manner.pause, 'caller goes on', () => this.#next(), null)
    else if (this.#manner.leaves === 'politely') this.#say(Buffer.from([3, 232]), closing)
    else this.#socket.destroy()
  }

  #next(): void {
    if (this.#socket.destroyed) return
    const { turns } = this.#sessions
    const number = turns.length
    const unsaid = { toldAt: undefined, gotAt: undefined }
    this.#turn = { session: this.#manner.number, input: 20, output: 40 + number, openedAt: this.#openedAt, ...unsaid }
    turns.push(this.#turn)
    this.#taken++
    this.#say(Buffer.from(JSON.stringify({ type: 'response.create', event_id: `turn ${number}` })), 1)
    if (this.#taken < this.#manner.turns || this.#manner.leaves !== 'in a turn') return
    this.#world.mark('fault: caller leaves a turn')
    this.#world.time.after(this.#manner.pause, 'caller leaves', () => this.#socket.destroy(), null)
  }

  #say(bytes: Buffer, opcode: number): void {
    if (!this.#socket.destroyed) this.#socket.write(frame(bytes, { opcode, masked: true }))
  }
}
