import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Received = { readonly headers: IncomingHttpHeaders; readonly body: string; readonly path: string }

/** A receiver of events that keeps all requests and answers as the test sets. */
export type Receiver = {
  readonly url: string
  readonly received: Received[]
  /** The status of its answers, initially 204. `never`: it does not answer. */
  answer: (request: Received) => number | 'never'
  headers: { readonly [header: string]: string }
  /** Resolves when it has received this many. */
  has(count: number): Promise<void>
  close(): Promise<void>
}

export async function openReceiver(): Promise<Receiver> {
  const waiting: { readonly count: number; resolve(this: void): void }[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const one = { headers: request.headers, body: Buffer.concat(pieces).toString(), path: request.url ?? '' }
      receiver.received.push(one)
      const status = receiver.answer(one)
      if (status !== 'never') response.writeHead(status, receiver.headers).end()
      for (const { count, resolve } of waiting) if (receiver.received.length >= count) resolve()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/told`,
    received: [],
    answer: () => 204,
    headers: {},
    has: count =>
      new Promise(resolve => {
        if (receiver.received.length >= count) resolve()
        else waiting.push({ count, resolve })
      }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}
