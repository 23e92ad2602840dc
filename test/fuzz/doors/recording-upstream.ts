import { createServer, type AddressInfo, type Socket } from 'node:net'

/** A request parsed from its bytes, strictly by RFC 9112. */
export type Recorded = {
  readonly method: string
  readonly target: string
  readonly head: string
  readonly body: string
}

/** An upstream that keeps every received byte, and answers each request in it. */
export type RecordingUpstream = {
  readonly url: string
  readonly port: number
  /** Returns the requests since the last call. @throws Error when the bytes are not whole requests */
  take(): readonly Recorded[]
  close(): Promise<void>
}

const answer = JSON.stringify({
  object: 'chat.completion',
  choices: [],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
})
const reply = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`

export async function recordUpstream(): Promise<RecordingUpstream> {
  const open = new Set<Socket>()
  let requests: Recorded[] = []
  let broken: string | undefined
  const server = createServer(socket => {
    open.add(socket)
    let rest: Buffer = Buffer.alloc(0)
    socket
      .on('error', () => undefined)
      .on('close', () => {
        open.delete(socket)
        if (rest.length > 0) broken ??= rest.toString('latin1')
      })
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      try {
        for (let read = readRequest(rest); read; read = readRequest(rest)) {
          requests.push(read.request)
          rest = rest.subarray(read.end)
          socket.write(reply)
        }
      } catch (error) {
        broken ??= String(error)
        rest = Buffer.alloc(0)
        socket.destroy()
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    take() {
      const [taken, fault] = [requests, broken]
      requests = []
      broken = undefined
      if (fault !== undefined) throw new Error(`the upstream was sent what is no request: ${fault.slice(0, 200)}`)
      return taken
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** The first complete request and its end, framed by either `Content-Length` or chunks. */
function readRequest(bytes: Buffer): { readonly request: Recorded; readonly end: number } | undefined {
  const mark = bytes.indexOf('\r\n\r\n')
  if (mark < 0) return undefined
  const head = bytes.toString('latin1', 0, mark)
  const [first = '', ...lines] = head.split('\r\n')
  const [method = '', target = ''] = first.split(' ')
  const values = (name: string): string[] =>
    lines.filter(line => line.toLowerCase().startsWith(`${name}:`)).map(line => line.slice(name.length + 1).trim())
  const [length, coded] = [values('content-length'), values('transfer-encoding')]
  if (length.length + coded.length > 1) throw new Error(`the upstream was sent two lengths: ${head}`)
  const start = mark + 4
  if (coded.length === 1) return readChunks(bytes, start, { method, target, head })
  const counted = length[0] ?? '0'
  if (!/^\d+$/.test(counted)) throw new Error(`the upstream was sent a length that is none: ${head}`)
  const end = start + Number(counted)
  return bytes.length < end
    ? undefined
    : { request: { method, target, head, body: bytes.toString('latin1', start, end) }, end }
}

function readChunks(bytes: Buffer, from: number, request: Omit<Recorded, 'body'>): ReturnType<typeof readRequest> {
  let body = ''
  for (let at = from; ; ) {
    const mark = bytes.indexOf('\r\n', at)
    if (mark < 0) return undefined
    const sizeText = bytes.toString('latin1', at, mark)
    if (!/^[\da-f]+/i.test(sizeText)) throw new Error(`the upstream was sent a chunk without a size: ${request.head}`)
    const size = Number.parseInt(sizeText, 16)
    const end = mark + 2 + size + 2
    if (bytes.length < end) return undefined
    body += bytes.toString('latin1', mark + 2, mark + 2 + size)
    if (size === 0) return { request: { ...request, body }, end }
    at = end
  }
}
