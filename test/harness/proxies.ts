import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A real proxy on loopback, and the requests that it received. */
export type TestProxy = { readonly port: number; readonly asked: readonly string[]; refuse?: number }

type Login = { readonly user: string; readonly password: string }

async function listen(t: Pick<Test, 'teardown'>, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function join(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy()).on('close', () => other.destroy())
  other.on('error', () => one.destroy()).on('close', () => one.destroy())
  one.pipe(other).pipe(one)
}

/** Only the proxy resolves names under `.invalid` and example addresses: to this machine. */
const placeOf = (host: string): string => (/\.invalid$|^192\.0\.2\.\d+$/.test(host) ? '127.0.0.1' : host)

/**
 * An HTTP proxy with tunnels by CONNECT. `refuse` is a status that it returns instead.
 * @param tls its certificate, for connections to the proxy over TLS
 */
export async function startConnectProxy(
  t: Pick<Test, 'teardown'>,
  login?: Login,
  tls?: { readonly cert: Buffer; readonly key: Buffer },
): Promise<TestProxy> {
  const asked: string[] = []
  const wanted = login && `Basic ${Buffer.from(`${login.user}:${login.password}`).toString('base64')}`
  const server = tls ? createTlsServer(tls) : createHttpServer((_req, res) => void res.writeHead(405).end())
  server.on('connect', (req, client: Socket) => {
    asked.push(req.url ?? '')
    const status = proxy.refuse ?? (!wanted || req.headers['proxy-authorization'] === wanted ? 200 : 407)
    if (status !== 200) {
      client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    const [, host = '', port = ''] = /^\[?(.+?)\]?:(\d+)$/.exec(req.url ?? '') ?? []
    const other = connect({ host: placeOf(host), port: Number(port) }, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      join(client, other)
    })
    other.once('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n'))
  })
  const proxy: TestProxy = { port: await listen(t, server), asked }
  return proxy
}

/** A SOCKS5 server (RFC 1928, RFC 1929): it expects each message whole, as clients send it. */
export async function startSocksProxy(t: Pick<Test, 'teardown'>, login?: Login): Promise<TestProxy> {
  const asked: string[] = []
  const server = createServer(client => {
    let state: 'greeting' | 'login' | 'request' = 'greeting'
    const onData = (bytes: Buffer): void => {
      if (state === 'greeting') {
        const method = login ? 2 : 0
        if (!bytes.subarray(2).includes(method)) return void client.end(Buffer.from([5, 0xff]))
        state = login ? 'login' : 'request'
        return void client.write(Buffer.from([5, method]))
      }
      if (state === 'login') {
        const length = bytes[1] ?? 0
        const user = bytes.subarray(2, 2 + length).toString()
        const password = bytes.subarray(3 + length).toString()
        const isRight = user === login?.user && password === login.password
        state = 'request'
        return void (isRight ? client.write(Buffer.from([1, 0])) : client.end(Buffer.from([1, 1])))
      }
      client.off('data', onData)
      const isName = bytes[3] === 3
      const host = isName ? bytes.subarray(5, 5 + (bytes[4] ?? 0)).toString() : bytes.subarray(4, 8).join('.')
      const port = bytes.readUInt16BE(bytes.length - 2)
      asked.push(`${host}:${port}`)
      const reply = (code: number): Buffer => Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0])
      if (proxy.refuse !== undefined) return void client.end(reply(proxy.refuse))
      const other = connect({ host: placeOf(host), port }, () => {
        client.write(reply(0))
        join(client, other)
      })
      other.once('error', () => client.end(reply(5)))
    }
    client.on('data', onData)
  })
  const proxy: TestProxy = { port: await listen(t, server), asked }
  return proxy
}

/** A proxy that a test scripts: `onBytes` gets the received bytes, and the number of the read. */
export async function startRawProxy(t: Pick<Test, 'teardown'>): Promise<RawProxy> {
  const server = createServer(socket => {
    let reads = 0
    proxy.opened++
    socket.on('data', bytes => proxy.onBytes(socket, bytes, reads++)).on('close', () => proxy.closed++)
  })
  const proxy: RawProxy = { port: 0, opened: 0, closed: 0, onBytes: () => undefined }
  proxy.port = await listen(t, server)
  return proxy
}

export type RawProxy = {
  port: number
  opened: number
  closed: number
  onBytes(socket: Socket, bytes: Buffer, read: number): void
}
