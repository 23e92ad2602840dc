import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { Key } from '../domain/index.ts'
import { hashSecret } from '../util/index.ts'

/** Marks a request of the playground. A false mark gains nothing, because links are stored only for session keys. */
const mark = /^playground-/
const imagePaths = /^\/v1\/images\//
/** Enough for twenty links of the maximum length. A longer response contains the pictures themselves. */
const answerBytesMax = 262_144
const urlCharsMax = 8_192
/** The maximum number of links per response, and in total. */
const linksOfAnswer = 20
const linksMax = 2_000

type Find = (hash: string) => Promise<Key | undefined> | Key | undefined

/**
 * Links in responses of image endpoints to users of the playground. Only these are shown as pictures, and only to the
 * user who received them. Stored in the memory of this process; the oldest are dropped.
 */
export class SignedPictureLinks {
  readonly #find: Find
  readonly #links = new Map<string, true>()

  constructor(find: Find) {
    this.#find = find
  }

  /** Whether a session key of that name and user received this link. */
  has(user: string, keyName: string, url: string): boolean {
    return this.#links.has(nameOf(user, keyName, url))
  }

  /** Reads a response while it is sent, if it may be for the playground. */
  watch(req: IncomingMessage, res: ServerResponse): void {
    const id = req.headers['x-request-id']
    if (typeof id !== 'string' || !mark.test(id) || !imagePaths.test(req.url ?? '')) return
    const secret = /^Bearer (\S+)$/i.exec(req.headers.authorization ?? '')?.[1]
    if (secret === undefined) return
    const pieces: Buffer[] = []
    let bytes = 0
    const hear = (piece: unknown): void => {
      if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) return
      bytes += piece.length
      // A response with the pictures themselves has no links.
      if (bytes > answerBytesMax) pieces.length = 0
      else pieces.push(Buffer.from(piece))
    }
    const write = res.write.bind(res) as (...given: unknown[]) => boolean
    const end = res.end.bind(res) as (...given: unknown[]) => ServerResponse
    res.write = (...given: unknown[]) => {
      hear(given[0])
      return write(...given)
    }
    res.end = (...given: unknown[]) => {
      hear(given[0])
      if (res.statusCode === 200 && bytes <= answerBytesMax)
        this.#keep(hashSecret(secret), linksIn(pieces, String(res.getHeader('content-encoding') ?? ''))).catch(
          () => undefined,
        )
      return end(...given)
    }
  }

  async #keep(hash: string, links: readonly string[]): Promise<void> {
    if (links.length === 0) return
    const key = await this.#find(hash)
    if (key?.kind !== 'session') return
    for (const url of links) this.#links.set(nameOf(key.user, key.name, url), true)
    for (const name of this.#links.keys()) {
      if (this.#links.size <= linksMax) return
      this.#links.delete(name)
    }
  }
}

function nameOf(user: string, keyName: string, url: string): string {
  return hashSecret(`${user}\n${keyName}\n${url}`)
}

/** The links in a response of an image endpoint; none for other responses. */
function linksIn(pieces: readonly Buffer[], encoding: string): readonly string[] {
  try {
    const { data } = JSON.parse(decode(Buffer.concat(pieces), encoding).toString()) as { readonly data?: unknown }
    if (!Array.isArray(data)) return []
    const urls = data.slice(0, linksOfAnswer).map(one => (one as { readonly url?: unknown } | null)?.url)
    return urls.filter(url => typeof url === 'string').filter(url => url.length <= urlCharsMax && /^https?:/i.test(url))
  } catch {
    return []
  }
}

function decode(body: Buffer, encoding: string): Buffer {
  const bound = { maxOutputLength: answerBytesMax }
  if (encoding === 'gzip') return gunzipSync(body, bound)
  if (encoding === 'br') return brotliDecompressSync(body, bound)
  if (encoding === 'deflate') return inflateSync(body, bound)
  return body
}
