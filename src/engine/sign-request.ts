import { createHash, hash, subtle } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type EncodedForm, isSecretName } from '../domain/index.ts'
import { type Signature, type Signer, SigningError } from '../plugin-api/index.ts'
import { type Awaitable, andThen } from '../util/index.ts'
import type { CallRequest } from './call-request.ts'
import { withParameters } from './fixed-query.ts'

/** A request with its signature. */
export type SignedRequest = {
  readonly path: string
  readonly headers: readonly string[]
  /** Its secret parts. */
  readonly secrets: readonly string[]
  readonly signature: Signature
}

/** A request before it is signed. */
export type UnsignedRequest = {
  /** Scheme and host, as in the request. */
  readonly origin: string
  /** Path and query, complete. */
  readonly path: string
  readonly form: EncodedForm | undefined
} & Pick<CallRequest, 'method' | 'headers' | 'body'>

/** Larger bodies are hashed outside the event loop. */
const quickBytesMax = 262_144

/** @throws SigningError, or what a faulty signer throws */
export function signRequest(signer: Signer, request: UnsignedRequest): Awaitable<SignedRequest> {
  const { method, origin, path, headers } = request
  const signing = signer.sign({ method, url: origin + path, headers, digest: () => digestOf(request) })
  return andThen(signing, signature => withSignature(request, signature))
}

function withSignature({ path, headers }: UnsignedRequest, signature: Signature): SignedRequest {
  const { headers: own = {}, query = {} } = signature
  const made = Object.entries(own)
  const names = new Set(made.map(([name]) => name.toLowerCase()))
  const list: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (!names.has(name.toLowerCase())) list.push(name, headers[i + 1] as string)
  }
  for (const [name, value] of made) list.push(name, value)
  const secrets = made.flatMap(([name, value]) => (isSecretName(name) ? value : []))
  return { path: withParameters(path, query), headers: list, secrets: [...secrets, ...Object.values(query)], signature }
}

/** Hex SHA-256 of what will be sent. */
function digestOf({ body, form }: UnsignedRequest): Awaitable<string> {
  if (form) return digestOpened(form.open(true))
  if (body.kind === 'stream')
    throw new SigningError(
      'its body is streamed, but the signature needs the whole body: add a plugin that reads such bodies to the pipeline',
    )
  if (body.kind === 'composed' && !body.whole) return digestOpened(body.open())
  const bytes = (body.kind === 'json' ? body.json.bytes : body.kind === 'composed' && body.whole) || Buffer.alloc(0)
  return bytes.length <= quickBytesMax ? hash('sha256', bytes, 'hex') : digestInPool(bytes)
}

async function digestInPool(bytes: Buffer): Promise<string> {
  return Buffer.from(await subtle.digest('SHA-256', new Uint8Array(bytes))).toString('hex')
}

/** A body made of parts can be read twice: for the signature, and to be sent. */
async function digestOpened(source: Readable): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of source) digest.update(chunk as Buffer)
  return digest.digest('hex')
}
