import { connect } from 'node:http2'
import { Readable } from 'node:stream'

/** One request by HTTP/2, on a connection of its own: its body is sent whatever comes meanwhile, as long as it is taken. */
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
      const asked = session.request({ ':method': method, ':path': pathname, ...headers })
      let status = 0
      const chunks: Buffer[] = []
      asked.on('response', head => (status = Number(head[':status'])))
      asked.on('data', (chunk: Buffer) => void chunks.push(chunk))
      // A proxy that has answered takes no more of the body, and says so with a reset that is no error (RFC 9113 8.1).
      asked.on('end', () => resolve(new Response(Buffer.concat(chunks), { status })))
      asked.on('error', reject)
      if (body instanceof ReadableStream) Readable.fromWeb(body as never).pipe(asked)
      else asked.end(body)
    })
  } finally {
    session.destroy()
  }
}
