import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** An answer with its raw head. */
export type WireAnswer = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer
  /** Whether it is complete by its framing; false when the connection ended before that. */
  readonly complete: boolean
}

export type Wire = {
  readonly socket: Socket
  /** Writes bytes to the socket; resolves when it accepts more, or has closed. */
  write(bytes: string | Uint8Array): Promise<void>
  /** The next answer, without 1xx. @throws Error when the connection ends before its head arrives */
  read(): Promise<WireAnswer>
  /** The next answer, including 1xx. @throws Error like `read` */
  readAny(): Promise<WireAnswer>
  /** How the other side ended the connection. */
  readonly ended: Promise<'end' | 'reset'>
}

/** A connection without a client library: it sends exactly the written bytes, and does not interpret the answer. */
export async function openWire(url: string): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  let received: Buffer = Buffer.alloc(0)
  let over: 'end' | 'reset' | undefined
  let wake = (): void => undefined
  const { promise: ended, resolve } = Promise.withResolvers<'end' | 'reset'>()
  const finish = (how: 'end' | 'reset'): void => {
    over ??= how
    resolve(over)
    wake()
  }
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    wake()
  })
  socket.on('end', () => finish('end'))
  socket.on('error', () => finish('reset'))
  socket.on('close', () => finish('reset'))

  /** Waits for more bytes; false when there will be none. */
  async function more(): Promise<boolean> {
    const before = received.length
    while (received.length === before) {
      if (over) return false
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
    return true
  }

  async function read(): Promise<WireAnswer> {
    let answer = await readAny()
    while (answer.status < 200) answer = await readAny()
    return answer
  }

  async function readAny(): Promise<WireAnswer> {
    let mark = received.indexOf('\r\n\r\n')
    while (mark < 0) {
      if (!(await more())) throw new Error(`the connection ended (${over}) before an answer: ${received.toString()}`)
      mark = received.indexOf('\r\n\r\n')
    }
    const [line = '', ...lines] = received.toString('latin1', 0, mark).split('\r\n')
    received = received.subarray(mark + 4)
    const status = Number(line.split(' ')[1])
    const headers: { [name: string]: string } = {}
    for (const text of lines) {
      const colon = text.indexOf(':')
      headers[text.slice(0, colon).toLowerCase()] = text.slice(colon + 1).trim()
    }
    if (status < 200) return { status, headers, body: Buffer.alloc(0), complete: true }
    return { status, headers, ...(await readBody(headers)) }
  }

  async function readBody(headers: { readonly [name: string]: string }): Promise<{ body: Buffer; complete: boolean }> {
    if (headers['transfer-encoding'] === 'chunked') return readChunks()
    const length = headers['content-length']
    if (length === undefined) {
      while (await more());
      return { body: takeBytes(received.length), complete: over === 'end' }
    }
    while (received.length < Number(length)) if (!(await more())) break
    const complete = received.length >= Number(length)
    return { body: takeBytes(Math.min(received.length, Number(length))), complete }
  }

  async function readChunks(): Promise<{ body: Buffer; complete: boolean }> {
    const pieces: Buffer[] = []
    for (;;) {
      let mark = received.indexOf('\r\n')
      while (mark < 0) {
        if (!(await more())) return { body: Buffer.concat(pieces), complete: false }
        mark = received.indexOf('\r\n')
      }
      const size = Number.parseInt(received.toString('latin1', 0, mark), 16)
      while (received.length < mark + 2 + size + 2)
        if (!(await more())) return { body: Buffer.concat(pieces), complete: false }
      takeBytes(mark + 2)
      pieces.push(takeBytes(size))
      takeBytes(2)
      if (size === 0) return { body: Buffer.concat(pieces), complete: true }
    }
  }

  function takeBytes(count: number): Buffer {
    const taken = received.subarray(0, count)
    received = received.subarray(count)
    return taken
  }

  return {
    socket,
    read,
    readAny,
    ended,
    async write(bytes) {
      if (socket.destroyed || socket.write(bytes)) return
      await Promise.race([once(socket, 'drain'), ended])
    },
  }
}

/** The head of a request with these lines. */
export function requestHead(method: string, path: string, lines: readonly string[]): string {
  return [`${method} ${path} HTTP/1.1`, 'Host: gateway.example', ...lines, '', ''].join('\r\n')
}

/** Sends one request as raw bytes on a connection of its own, and returns its answer. */
export async function exchangeRaw(url: string, bytes: string | Uint8Array): Promise<WireAnswer> {
  const wire = await openWire(url)
  try {
    await wire.write(bytes)
    return await wire.read()
  } finally {
    wire.socket.destroy()
  }
}
