import { connect } from 'node:http2'
import { Readable } from 'node:stream'

/**
 * Sends one request over HTTP/2, on a connection of its own. It sends its body as long as the server accepts it, even
 * after the response has begun.
 */
export async function fetchHttp2(
  input: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: object; body?: unknown },
  by: { readonly ca?: Buffer | undefined; readonly localAddress: string },
): Promise<Response> {
  const { origin, pathname } = new URL(input)
  const session = connect(origin, { ...by, ...(by.ca && { ca: by.ca }) })
  try {
    return await new Promise<Response>((resolve, reject) => {
      session.once('error', reject)
      const stream = session.request({ ':method': method, ':path': pathname, ...headers })
      let status = 0
      const chunks: Buffer[] = []
      stream.on('response', head => (status = Number(head[':status'])))
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
      // A proxy that has answered accepts no more of the body, and sends a reset that is not an error (RFC 9113 8.1).
      stream.on('end', () => resolve(new Response(Buffer.concat(chunks), { status })))
      stream.on('error', reject)
      if (body instanceof ReadableStream) Readable.fromWeb(body as never).pipe(stream)
      else stream.end(body)
    })
  } finally {
    session.destroy()
  }
}
