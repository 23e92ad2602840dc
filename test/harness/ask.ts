import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

/** The response to one request, complete or not. */
export type Answered = {
  /** Undefined when the connection ended before a head. */
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Whether the response is complete by its framing. */
  readonly whole: boolean
  /** The request's id as the gateway reports it. */
  readonly id: string
  json(): Record<string, unknown>
}

export type Ask = {
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly key?: string
  /** Disconnects when the promise settles. */
  readonly leave?: Promise<unknown>
  /** Called with the number of body bytes received so far, whenever some arrive. */
  readonly onBytes?: (bytes: number) => void
}

/** Sends one request on a connection of its own and receives until its end. Never rejects. */
export async function askOnce(
  url: string,
  body: object | Buffer,
  how: Ask & { readonly key: string },
): Promise<Answered> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
  const sent = request(new URL(how.path ?? '/v1/images/generations', url), {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${how.key}`,
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      ...how.headers,
    },
  })
  const closed = once(sent, 'close').catch(() => undefined)
  sent.on('error', () => undefined)
  const leave = (): void => void sent.destroy()
  how.leave?.then(leave, leave)
  let answer: IncomingMessage | undefined
  let text = ''
  sent.on('response', (response: IncomingMessage) => {
    answer = response
    response.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
      how.onBytes?.(text.length)
    })
    response.on('error', () => undefined)
  })
  sent.end(bytes)
  await closed
  const headers = answer?.headers ?? {}
  return {
    status: answer?.statusCode,
    headers,
    text,
    whole: answer?.complete === true,
    id: String(headers['x-request-id'] ?? ''),
    json: () => JSON.parse(Buffer.from(text, 'latin1').toString()) as Record<string, unknown>,
  }
}
