import { createHmac, hash } from 'node:crypto'
import { defineSigner, andThen, type Signature, SigningError, type Unsigned } from '../../src/plugin-api/index.ts'
import { optionsSchema } from './schema.ts'

const algorithm = 'TC3-HMAC-SHA256'

/** TC3-HMAC-SHA256, in headers: over method, path, query, content type, host and the body's hash. */
export const tc3Hmac = defineSigner({
  name: 'tc3-hmac',
  options: optionsSchema,
  create(
    { secret_id: id, secret_key: key, service, version, region, action: otherwise, session_token: token },
    { clock },
  ) {
    function sign(request: Unsigned, digest: string): Signature {
      const action = headerOf(request, 'x-tc-action') ?? otherwise
      if (action === undefined) throw new SigningError('it has no action: set one in the call or in the credential')
      const seconds = Math.floor(clock.now() / 1_000)
      const date = new Date(seconds * 1_000).toISOString().slice(0, 10)
      const scope = `${date}/${service}/tc3_request`
      const { text, signed } = canonical(request, digest)
      const toSign = [algorithm, seconds, scope, hash('sha256', text, 'hex')].join('\n')
      const signature = createHmac('sha256', derive(key, date, service))
        .update(toSign)
        .digest('hex')
      return {
        headers: {
          'x-tc-action': action,
          'x-tc-version': version,
          'x-tc-timestamp': String(seconds),
          ...(region !== undefined && { 'x-tc-region': region }),
          ...(token !== undefined && { 'x-tc-token': token }),
          authorization: `${algorithm} Credential=${id}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
        },
      }
    }
    return {
      sign: request => andThen(request.digest(), known => sign(request, known)),
    }
  },
})

/** The signed text, and the names of its headers. */
function canonical(request: Unsigned, digest: string): { readonly text: string; readonly signed: string } {
  const { host, pathname, search } = new URL(request.url)
  const type = headerOf(request, 'content-type')
  const headers = [...(type === undefined ? [] : [['content-type', type] as const]), ['host', host] as const]
  const lines = headers.map(([name, value]) => `${name}:${value}\n`).join('')
  const signed = headers.map(([name]) => name).join(';')
  return { text: [request.method, pathname, search.slice(1), lines, signed, digest].join('\n'), signed }
}

function derive(key: string, date: string, service: string): Buffer {
  let derived: string | Buffer = `TC3${key}`
  for (const part of [date, service, 'tc3_request']) derived = createHmac('sha256', derived).update(part).digest()
  return derived as Buffer
}

function headerOf({ headers }: Unsigned, wanted: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === wanted) return headers[i + 1]
  return undefined
}
