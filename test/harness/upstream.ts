import { createHash } from 'node:crypto'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

/** A complete request as a real upstream on loopback received it. */
export type Received = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** The body as JSON. @throws SyntaxError when it is not JSON */
  json(): Record<string, unknown>
  /** The body as a form, parsed by Node's own reader. */
  form(): Promise<FormData>
}

export type Reaction = (res: ServerResponse, received: Received, req: IncomingMessage) => void | Promise<void>

/** An upstream whose answers the test sets, on 127.0.0.1 and a port of its own. */
export type Upstream = {
  readonly url: string
  readonly received: readonly Received[]
  readonly server: Server
  /** Open sockets. */
  readonly sockets: number
  /** Sets the answer to all later requests: a JSON value with status 200, or a function. */
  answer(reaction: object | Reaction): void
  /** Sets the answer to the next request alone; earlier ones are used first. */
  answerOnce(reaction: object | Reaction): void
  close(): Promise<void>
}

export async function startUpstream(first: object | Reaction = { created: 1, data: [] }): Promise<Upstream> {
  const received: Received[] = []
  const once: (object | Reaction)[] = []
  let always: object | Reaction = first
  let sockets = 0
  const server = createServer((req, res) => {
    void readWhole(req).then(
      async body => {
        const one: Received = {
          method: req.method ?? '',
          url: req.url ?? '',
          headers: req.headers,
          rawHeaders: req.rawHeaders,
          body,
          json: () => JSON.parse(body.toString()) as Record<string, unknown>,
          form: () =>
            new Response(new Uint8Array(body), {
              headers: { 'content-type': req.headers['content-type'] ?? '' },
            }).formData(),
        }
        received.push(one)
        await react(once.shift() ?? always, res, one, req)
      },
      () => undefined,
    )
  })
  server.on('connection', socket => {
    sockets++
    socket.on('close', () => sockets--).on('error', () => undefined)
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    server,
    get sockets() {
      return sockets
    },
    answer: reaction => {
      always = reaction
    },
    answerOnce: reaction => {
      once.push(reaction)
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function react(
  reaction: object | Reaction,
  res: ServerResponse,
  received: Received,
  req: IncomingMessage,
): Promise<void> {
  if (typeof reaction === 'function') return (reaction as Reaction)(res, received, req)
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reaction))
}

async function readWhole(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
