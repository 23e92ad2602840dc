import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Test } from 'tap'
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws'

export type Event = { readonly type: string; readonly [name: string]: unknown }

/** A WebSocket client for JSON messages. */
export type Talk = {
  readonly socket: WebSocket
  readonly events: readonly Event[]
  send(event: object): void
  /** The next unread message of a type, or with such a member; rejects when the socket closes first. */
  next(type: string): Promise<Event>
  /** The code and the reason of the close. */
  readonly closed: Promise<readonly [code: number, reason: string]>
}

/** Opens a WebSocket. @throws Error with `status`, `headers` and `body` for an answer other than 101 */
export async function openTalk(
  t: Pick<Test, 'teardown'>,
  url: string,
  key: string | undefined,
  options: ClientOptions & { readonly protocols?: string[] } = {},
): Promise<Talk> {
  const { protocols = [], ...more } = options
  const headers = { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...more.headers }
  const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, { ...more, headers })
  t.teardown(() => socket.terminate())
  const talk = follow(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve).once('error', reject)
    socket.once('unexpected-response', (_request, response: IncomingMessage) => void refuse(response, reject))
  })
  return talk
}

export class Refused extends Error {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string

  constructor(status: number, headers: IncomingMessage['headers'], body: string) {
    super(`refused with ${status}: ${body}`)
    this.status = status
    this.headers = headers
    this.body = body
  }
}

async function refuse(response: IncomingMessage, reject: (error: Error) => void): Promise<void> {
  let body = ''
  try {
    for await (const chunk of response) body += String(chunk)
    reject(new Refused(response.statusCode ?? 0, response.headers, body))
  } catch (error) {
    reject(error as Error)
  }
}

function follow(socket: WebSocket): Talk {
  const events: Event[] = []
  const taken = new Set<Event>()
  const waits: { readonly type: string; resolve(event: Event): void; reject(error: Error): void }[] = []
  const closed = new Promise<readonly [number, string]>(resolve =>
    socket.once('close', (code, reason) => {
      for (const wait of waits) wait.reject(new Error(`closed with ${code} before ${wait.type}`))
      resolve([code, reason.toString()])
    }),
  )
  socket.on('message', data => {
    const event = JSON.parse((data as Buffer).toString()) as Event
    events.push(event)
    const at = waits.findIndex(({ type }) => isOf(event, type))
    if (at === -1) return
    taken.add(event)
    waits.splice(at, 1)[0]?.resolve(event)
  })
  return {
    socket,
    events,
    closed,
    send: event => socket.send(JSON.stringify(event)),
    next(type) {
      const there = events.find(event => isOf(event, type) && !taken.has(event))
      if (there) taken.add(there)
      return there ? Promise.resolve(there) : new Promise((resolve, reject) => waits.push({ type, resolve, reject }))
    },
  }
}

/** Messages of one API format have a type; those of another have a member with the name of the type. */
function isOf(event: Event, type: string): boolean {
  return event.type === type || type in event
}

/** A vendor of sessions that the test controls. */
export type FakeVendor = {
  readonly url: string
  /** The heads of the received requests. */
  readonly requests: readonly IncomingMessage[]
  /** The next session to be opened, with the gateway's messages in it. */
  session(): Promise<Talk>
  /** Open sockets. */
  readonly open: number
  /** The answer to WebSocket requests instead; undefined: they are accepted. */
  answer: ((socket: Duplex, request: IncomingMessage) => void) | undefined
}

export async function startVendor(t: Pick<Test, 'teardown'>): Promise<FakeVendor> {
  const server = createServer((_request, response) => response.writeHead(404).end())
  const sockets = new WebSocketServer({ noServer: true })
  const raw = new Set<Duplex>()
  const requests: IncomingMessage[] = []
  const opened: Talk[] = []
  const waits: ((talk: Talk) => void)[] = []
  server.on('connection', socket => {
    raw.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => raw.delete(socket))
  })
  const vendor: FakeVendor = {
    url: '',
    requests,
    get open() {
      return raw.size
    },
    session: () => {
      const there = opened.shift()
      return there ? Promise.resolve(there) : new Promise(resolve => waits.push(resolve))
    },
    answer: undefined,
  }
  server.on('upgrade', (request, socket, head) => {
    requests.push(request)
    if (vendor.answer) return vendor.answer(socket, request)
    sockets.handleUpgrade(request, socket, head, one => {
      one.on('error', () => undefined)
      const talk = follow(one)
      const wait = waits.shift()
      if (wait) wait(talk)
      else opened.push(talk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of raw) socket.destroy()
    server.close()
  })
  return Object.assign(vendor, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}
