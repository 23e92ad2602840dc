import { type Message, WireReader } from '../world/http-wire.ts'
import type { SimSocket } from '../world/sockets.ts'
import type { World } from '../world/world.ts'
import type { Lives } from './life.ts'

/** A request without a model, and its result. */
export type OddRequest = {
  readonly what: string
  readonly sentAt: number
  answer: Message | undefined
  endedAt: number | undefined
  broken: string | undefined
}

/** Other requests: each is the beginning of a request, and its body. */
const odd: readonly (readonly [line: string, body?: string])[] = [
  ['GET /v1/models'],
  ['HEAD /v1/models'],
  ['HEAD /v1/images/generations'],
  ['OPTIONS /v1/images/generations'],
  ['DELETE /v1/images/generations'],
  ['PUT /v1/chat/completions', '{"model":"sim-chat"}'],
  ['GET /v1/charges/req_nobody'],
  ['POST /nowhere', '{}'],
  ['POST /v1/chat/completions', '{"model":"sim-chat",'],
  ['POST /v1/images/generations', '{"model":"nobody-has-this","prompt":"x"}'],
  ['POST /v1/images/generations', '{"model":"alpha-image-2","prompt":"x","n":-1}'],
  ['POST /v1/images/edits', 'no form at all'],
  ['PATCH /', ''],
]

/** The process that sends it, and its target. */
type Doorstep = { readonly world: World; readonly lives: Lives; connect(): SimSocket }

/** Requests that the oracles of money ignore: they get normal answers. */
export class OddRequests {
  readonly list: OddRequest[] = []
  readonly #stage: Doorstep

  constructor(stage: Doorstep) {
    this.#stage = stage
  }

  send(choice: number, secret: string): void {
    const { world, lives } = this.#stage
    const [line, body] = odd[choice % odd.length] ?? ['GET /']
    if (!lives.gateway) return
    world.mark('odd request')
    const one: OddRequest = {
      what: line,
      sentAt: world.time.tick,
      answer: undefined,
      endedAt: undefined,
      broken: undefined,
    }
    this.list.push(one)
    const socket = this.#stage.connect()
    const reader = new WireReader(line.startsWith('HEAD') ? 'answers to HEAD' : 'answers')
    const end = (): void => {
      one.answer = reader.last
      one.broken = reader.broken
      one.endedAt ??= world.time.tick
    }
    socket.on('error', end)
    socket.on('close', end)
    socket.on('data', (bytes: Buffer) => reader.push(bytes))
    socket.on('end', () => {
      reader.end()
      end()
      socket.end()
    })
    const length = body === undefined ? '' : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
    const head = `${line} HTTP/1.1\r\nhost: gateway.sim\r\nauthorization: Bearer ${secret}\r\nconnection: close\r\n`
    socket.write(`${head}${length}\r\n${body ?? ''}`)
  }
}
