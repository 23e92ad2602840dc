import { createHash } from 'node:crypto'
import { Failure, type UpstreamClient, sniff } from '../../src/plugin-api/index.ts'
import type { LinkToFollow } from '../../src/wire/index.ts'
import { toBase64 } from './to-base64.ts'
import { withCheckedEnd } from './check-picture-end.ts'

/** How to handle a link in an answer. */
export type LinkRule = {
  readonly do: 'inline' | 'measure'
  /** Allowed hosts in addition to the upstream's own. */
  readonly hosts: readonly string[]
  readonly bytesMax: number
}

/** Enough bytes to detect the format of a picture. */
const magicBytes = 16
/** Enough bytes to read its size, in nearly all cases. */
const headBytes = 64 * 1024

type Following = {
  readonly asker: UpstreamClient
  readonly rule: LinkRule
  /** Receives the first bytes of the linked content. */
  readonly onHead: (index: number, head: Buffer) => void
}

/** The member of a picture in the common format: the picture itself, or the link if it could not be fetched. */
export async function* follow(link: LinkToFollow, following: Following): AsyncGenerator<Buffer> {
  const { rule, onHead } = following
  const asLink = Buffer.from(`"url":${JSON.stringify(link.url)}`)
  const opened = await openLink(link.url, following)
  if (!opened) {
    yield asLink
    return
  }
  const chunks = opened[Symbol.asyncIterator]()
  const head = await readHead(chunks, rule.do === 'measure' ? headBytes : magicBytes)
  const isPicture = head !== undefined && sniff(head).type.startsWith('image/')
  if (isPicture) onHead(link.index, head)
  if (!isPicture || rule.do === 'measure') {
    await chunks.return?.()
    yield asLink
    return
  }
  yield Buffer.from('"b64_json":"')
  yield* toBase64(wholePicture(joined(head, chunks), () => openLink(link.url, following)))
  yield Buffer.from('"')
}

/**
 * The picture, which the vendor has charged: if its download breaks off, it is downloaded once more and continued where
 * it broke off. @throws Failure if the second download breaks off too, or begins with other bytes
 */
async function* wholePicture(
  chunks: AsyncIterable<Buffer>,
  openAgain: () => Promise<AsyncIterable<Buffer> | undefined>,
): AsyncGenerator<Buffer> {
  const begun = createHash('sha256')
  let bytes = 0
  try {
    for await (const chunk of chunks) {
      begun.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  } catch (error) {
    const isTooLarge = error instanceof Failure && error.code === 'upstream_answer_too_large'
    const again = isTooLarge ? undefined : await openAgain()
    if (!again) throw error
    yield* restOf(again, { bytes, hash: begun.digest(), cause: error })
  }
}

type Beginning = { readonly bytes: number; readonly hash: Buffer; readonly cause: unknown }

/** What follows the beginning. @throws its cause if the chunks begin with other bytes */
async function* restOf(chunks: AsyncIterable<Buffer>, { bytes, hash, cause }: Beginning): AsyncGenerator<Buffer> {
  const begun = createHash('sha256')
  let left = bytes
  for await (const chunk of chunks) {
    const rest = chunk.subarray(left)
    if (left > 0) {
      begun.update(chunk.subarray(0, left))
      left -= chunk.length - rest.length
      if (left === 0 && !begun.digest().equals(hash)) throw cause
    }
    if (rest.length > 0) yield rest
  }
  if (left > 0) throw cause
}

/** Undefined if the link cannot be opened, or its address is not allowed. */
async function openLink(url: string, { asker, rule }: Following): Promise<AsyncIterable<Buffer> | undefined> {
  try {
    const { status, headers, body, endUnknown } = await asker.ask({
      method: 'GET',
      url,
      hosts: rule.hosts,
      // A link needs no credential: a key sent with it would be revealed to its host.
      withCredential: false,
      bytesMax: rule.bytesMax,
      headers: rule.do === 'measure' ? { range: `bytes=0-${headBytes - 1}` } : {},
      body: { kind: 'none' },
    })
    if (status !== 200 && !(rule.do === 'measure' && status === 206)) return undefined
    // It would break off in the middle, after its beginning was delivered.
    if (rule.do === 'inline' && Number(headers['content-length'] ?? 0) > rule.bytesMax) return undefined
    return endUnknown === true && rule.do === 'inline' ? withCheckedEnd(body) : body
  } catch {
    return undefined
  }
}

/** The first bytes, as many as there are; undefined if the connection breaks before. */
async function readHead(chunks: AsyncIterator<Buffer>, bytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let length = 0
  try {
    while (length < bytes) {
      const next = await chunks.next()
      if (next.done) break
      pieces.push(next.value)
      length += next.value.length
    }
  } catch {
    return undefined
  }
  return Buffer.concat(pieces)
}

async function* joined(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head
  for (;;) {
    const next = await rest.next()
    if (next.done) return
    yield next.value
  }
}
