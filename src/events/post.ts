import { Agent as PlainAgent, type ClientRequest, request as plainRequest } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import {
  AddressRefused,
  type Clock,
  environmentProxy,
  guardedLookup,
  isPublicAddress,
  openTunnel,
  plainHost,
  ProxyError,
  retryAfterMs,
} from '../util/index.ts'

/** The delivery result of an event. `why` quotes neither the response nor the address. */
export type Sent =
  | { readonly kind: 'arrived' }
  | { readonly kind: 'failed'; readonly why: string; readonly laterMs: number }
  /** The result is no longer needed. */
  | { readonly kind: 'left' }

/** The timeout for a response of a receiver. */
export const answerMs = 15_000
/** The bytes of a response that are read, so that the connection can be reused. */
const answerBytesMax = 65_536

export const failed = (why: string, laterMs = 0): Sent => ({ kind: 'failed', why, laterMs })

type Connected = (error: Error | null, socket: Duplex) => void

/** How a receiver is reached through the proxy of the environment, which resolves its name; undefined without one. */
function tunnelTo(url: URL, host: string, clock: Clock) {
  const isEncrypted = url.protocol === 'https:'
  const place = { host, port: Number(url.port || (isEncrypted ? 443 : 80)) }
  const proxy = environmentProxy(process.env, { ...place, isEncrypted })
  if (!proxy) return undefined
  const open = async (done: Connected): Promise<void> => {
    const late = new AbortController()
    const limit = clock.after(answerMs, () => late.abort())
    const opened = await openTunnel(proxy, place, late.signal).catch((error: Error) => error)
    limit.cancel()
    // Node's types do not include failures without a socket.
    if (opened instanceof Error) return (done as (error: Error) => void)(opened)
    const name = isIP(host) === 0 ? { servername: host } : {}
    done(null, isEncrypted ? connectTls({ socket: opened, ...place, ...name, ALPNProtocols: ['http/1.1'] }) : opened)
  }
  return { createConnection: (_options: unknown, done: Connected): undefined => void open(done) }
}

/** Posts to one receiver, over connections that are kept for a while. */
export class Poster {
  readonly #clock: Clock
  readonly #agents = { 'http:': new PlainAgent({ keepAlive: true }), 'https:': new TlsAgent({ keepAlive: true }) }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  /** Follows no redirect: an answer other than 2xx is a failure. Never rejects. */
  post(
    address: { readonly url: string; readonly allowPrivate: boolean },
    body: string,
    headers: { readonly [header: string]: string },
    signal: AbortSignal,
  ): Promise<Sent> {
    const url = new URL(address.url)
    const host = plainHost(url)
    if (!address.allowPrivate && isIP(host) !== 0 && !isPublicAddress(host))
      return Promise.resolve(failed(`${host} is not a public internet address`))
    return new Promise(resolve => {
      const isTls = url.protocol === 'https:'
      const tunnel = tunnelTo(url, host, this.#clock)
      const request = (isTls ? tlsRequest : plainRequest)(url, {
        method: 'POST',
        ...(tunnel ?? {
          agent: this.#agents[isTls ? 'https:' : 'http:'],
          ...(!address.allowPrivate && { lookup: guardedLookup() }),
        }),
        headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      })
      this.#follow(request, signal, resolve)
      request.end(body)
    })
  }

  #follow(request: ClientRequest, signal: AbortSignal, resolve: (sent: Sent) => void): void {
    const late = this.#clock.after(answerMs, () => end(failed(`no response in ${answerMs / 1_000} s`)))
    const leave = (): void => end({ kind: 'left' })
    const release = (): void => {
      late.cancel()
      signal.removeEventListener('abort', leave)
    }
    // A response may have a body that never ends: the deadline applies until the connection is free.
    const end = (sent: Sent): void => {
      resolve(sent)
      if (sent.kind === 'arrived') return
      release()
      request.destroy()
    }
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    // Without effect after a response or an error; a receiver that switches protocols causes neither.
    request.on('close', () => end(failed('it closed the connection without a response')))
    request.on('error', error => end(failed(reasonOf(error))))
    request.on('response', response => {
      const { statusCode: status = 0, headers } = response
      let bytes = 0
      response.on('data', (piece: Buffer) => {
        bytes += piece.length
        if (bytes > answerBytesMax) response.destroy()
      })
      response.on('error', () => undefined)
      const isTaken = status >= 200 && status < 300
      end(
        isTaken
          ? { kind: 'arrived' }
          : failed(`status ${status}`, laterMs(status, headers['retry-after'], this.#clock.now())),
      )
    })
  }
}

/** Statuses of overloaded receivers. */
function laterMs(status: number, retryAfter: string | undefined, now: number): number {
  return status === 429 || status === 503 ? (retryAfterMs(retryAfter, now) ?? 0) : 0
}

/** Only the code: messages contain addresses. */
export function reasonOf(error: unknown): string {
  if (error instanceof ProxyError) return `it could not be reached: ${error.message}`
  if (error instanceof AddressRefused) return 'its name does not resolve to a public internet address'
  const code = (error as { readonly code?: unknown } | null)?.code
  return typeof code === 'string' ? `it could not be reached (${code})` : 'it could not be reached'
}
