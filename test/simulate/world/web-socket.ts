import { createHash } from 'node:crypto'

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const mask = [1, 2, 3, 4] as const

export type Frame = { readonly opcode: number; readonly payload: Buffer }
export const closing = 8

/** The value that proves that a server has understood the upgrade (RFC 6455 4.2.2). */
export function acceptOf(key: string): string {
  return createHash('sha1')
    .update(key + guid)
    .digest('base64')
}

/** One frame of RFC 6455, without the gateway's code; frames of clients are masked. */
export function frame(text: string | Buffer, { opcode = 1, masked = false } = {}): Buffer {
  const payload = Buffer.from(text as string)
  const bit = masked ? 0x80 : 0
  const size = payload.length < 126 ? [bit | payload.length] : [bit | 126, payload.length >> 8, payload.length & 255]
  const body = masked ? payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0)) : payload
  return Buffer.concat([Buffer.from([0x80 | opcode, ...size, ...(masked ? mask : [])]), body])
}

/** Reads frames, masked or not. */
export class FrameReader {
  readonly #take: (frame: Frame) => void
  #rest: Buffer = Buffer.alloc(0)

  constructor(take: (frame: Frame) => void) {
    this.#take = take
  }

  push(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    while (this.#read());
  }

  #read(): boolean {
    const rest = this.#rest
    if (rest.length < 2) return false
    const [first, second] = [rest.readUInt8(0), rest.readUInt8(1)]
    const short = second & 0x7f
    let at = short === 126 ? 4 : short === 127 ? 10 : 2
    if (rest.length < at) return false
    const length = short === 126 ? rest.readUInt16BE(2) : short === 127 ? Number(rest.readBigUInt64BE(2)) : short
    const key = second >= 0x80 ? rest.subarray(at, at + 4) : undefined
    if (key) at += 4
    if (rest.length < at + length) return false
    const raw = rest.subarray(at, at + length)
    this.#rest = rest.subarray(at + length)
    this.#take({ opcode: first & 15, payload: key ? (raw.map((byte, i) => byte ^ (key[i % 4] ?? 0)) as Buffer) : raw })
    return true
  }
}
