/** One message as received, complete or not. */
export type Message = {
  /** The request line or the status line. */
  readonly first: string
  readonly headers: ReadonlyMap<string, string>
  body: Buffer
  /** Whether it is complete by its framing. */
  whole: boolean
}

type Framing = { kind: 'none' } | { kind: 'length'; left: number } | { kind: 'chunked' } | { kind: 'close' }

/**
 * Reads HTTP/1.1 by RFC 9112, without the gateway's code: requests, or answers including the informational ones before
 * them.
 */
export class WireReader {
  /** Messages with a complete head, the last of them possibly incomplete; 1xx ones are separate. */
  readonly messages: Message[] = []
  readonly informational: number[] = []
  /** The text that could not be parsed, if any. */
  broken: string | undefined
  readonly #reads: 'requests' | 'answers' | 'answers to HEAD'
  readonly #onWhole: (message: Message) => void
  #rest: Buffer = Buffer.alloc(0)
  #current: Message | undefined
  #framing: Framing = { kind: 'none' }
  readonly #body: Buffer[] = []

  constructor(
    reads: 'requests' | 'answers' | 'answers to HEAD',
    onWhole: (message: Message) => void = () => undefined,
  ) {
    this.#reads = reads
    this.#onWhole = onWhole
  }

  push(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    while (this.broken === undefined && (this.#current ? this.#readBody(this.#current) : this.#readHead()));
  }

  /** The other side has ended its direction of the connection. */
  end(): void {
    if (this.#current && this.#framing.kind === 'close') this.#finish(this.#current)
  }

  /** The last message, with the received part of its body. */
  get last(): Message | undefined {
    const last = this.messages.at(-1)
    if (last && last === this.#current) last.body = Buffer.concat(this.#body)
    return last
  }

  #readHead(): boolean {
    const end = this.#rest.indexOf('\r\n\r\n')
    if (end < 0) return false
    const [first = '', ...lines] = this.#rest.toString('latin1', 0, end).split('\r\n')
    this.#rest = this.#rest.subarray(end + 4)
    const headers = new Map<string, string>()
    for (const line of lines) {
      const colon = line.indexOf(':')
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
    }
    const status = this.#reads !== 'requests' ? Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? Number.NaN) : undefined
    if (Number.isNaN(status)) {
      this.broken = `no status line: ${JSON.stringify(first.slice(0, 80))}`
      return false
    }
    if (status !== undefined && status < 200) {
      this.informational.push(status)
      return true
    }
    this.#current = { first, headers, body: Buffer.alloc(0), whole: false }
    this.messages.push(this.#current)
    this.#framing = this.#frame(headers, status)
    return true
  }

  #frame(headers: ReadonlyMap<string, string>, status: number | undefined): Framing {
    if (status === 204 || status === 304 || this.#reads === 'answers to HEAD') return { kind: 'none' }
    if (headers.get('transfer-encoding')?.toLowerCase() === 'chunked') return { kind: 'chunked' }
    const length = headers.get('content-length')
    if (length !== undefined) return { kind: 'length', left: Number(length) }
    return { kind: status === undefined ? 'none' : 'close' }
  }

  #readBody(message: Message): boolean {
    if (this.#framing.kind === 'none') return this.#finish(message)
    if (this.#framing.kind === 'chunked') return this.#readChunk(message)
    const most = this.#framing.kind === 'length' ? this.#framing.left : Infinity
    const piece = this.#rest.subarray(0, Math.min(most, this.#rest.length))
    this.#rest = this.#rest.subarray(piece.length)
    if (piece.length > 0) this.#body.push(piece)
    if (this.#framing.kind === 'close') return false
    this.#framing.left -= piece.length
    return this.#framing.left === 0 && this.#finish(message)
  }

  #readChunk(message: Message): boolean {
    const end = this.#rest.indexOf('\r\n')
    if (end < 0) return false
    const size = Number.parseInt(this.#rest.toString('latin1', 0, end), 16)
    if (Number.isNaN(size)) {
      this.broken = 'no size of a chunk'
      return false
    }
    if (this.#rest.length < end + 2 + size + 2) return false
    if (size > 0) this.#body.push(this.#rest.subarray(end + 2, end + 2 + size))
    this.#rest = this.#rest.subarray(end + 2 + size + 2)
    return size === 0 ? this.#finish(message) : true
  }

  #finish(message: Message): boolean {
    message.body = Buffer.concat(this.#body)
    message.whole = true
    this.#body.length = 0
    this.#current = undefined
    this.#onWhole(message)
    return true
  }
}
