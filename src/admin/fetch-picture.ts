import { request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { isIP } from 'node:net'
import { type Clock, guardedLookup, isPublicAddress, plainHost, type Resolve, sniff } from '../util/index.ts'

const bytesMax = 20 * 1_048_576
const waitMs = 20_000
/** Media types that browsers show as images, and that contain no script. */
const shown: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif'])

export type FetchedPicture =
  | { readonly kind: 'picture'; readonly type: string; readonly body: Buffer }
  /** A part of a sentence, without text from the address or the response. */
  | { readonly kind: 'refused'; readonly why: string }

/** The network; tests have their own. */
export type PictureNetwork = {
  readonly resolve?: Resolve
  readonly isAllowed?: (address: string) => boolean
  readonly bytesMax?: number
}

/**
 * Fetches an image from a foreign address. Checks every IP address on connection, follows no redirect, and requires the
 * first bytes of an image, regardless of the content type. Never rejects.
 */
export function fetchPicture(
  url: string,
  clock: Pick<Clock, 'after'>,
  left: AbortSignal,
  { resolve, isAllowed = isPublicAddress, bytesMax: most = bytesMax }: PictureNetwork = {},
): Promise<FetchedPicture> {
  const to = readAddress(url)
  if (!to) return Promise.resolve(refused('what is no address'))
  const host = plainHost(to)
  if (isIP(host) !== 0 && !isAllowed(host)) return Promise.resolve(refused('no place of the open internet'))
  return new Promise(done => {
    const request = (to.protocol === 'https:' ? tlsRequest : plainRequest)(to, {
      agent: false,
      lookup: guardedLookup(resolve, isAllowed),
      headers: { accept: [...shown].join(', '), 'accept-encoding': 'identity', 'user-agent': 'tollgate' },
    })
    const end = (fetched: FetchedPicture): void => {
      late.cancel()
      left.removeEventListener('abort', leave)
      request.destroy()
      done(fetched)
    }
    const late = clock.after(waitMs, () => end(refused('it took too long')))
    const leave = (): void => end(refused('the client has left'))
    left.addEventListener('abort', leave, { once: true })
    if (left.aborted) leave()
    request.on('error', () => end(refused('it could not be reached')))
    request.on('response', response => {
      if (response.statusCode !== 200) return end(refused(`it was answered ${response.statusCode}`))
      const pieces: Buffer[] = []
      let bytes = 0
      response.on('data', (piece: Buffer) => {
        pieces.push(piece)
        bytes += piece.length
        if (bytes > most) end(refused('it is too large'))
      })
      response.on('error', () => end(refused('it was cut')))
      response.on('aborted', () => end(refused('it was cut')))
      response.on('end', () => {
        const body = Buffer.concat(pieces)
        const { type } = sniff(body)
        end(shown.has(type) ? { kind: 'picture', type, body } : refused('it is no picture'))
      })
    })
    request.end()
  })
}

/** An allowed address: http or https, and without a user name. */
function readAddress(text: string): URL | undefined {
  if (/[\p{Cc} \\]/u.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:'
  return isWeb && url.username === '' && url.password === '' ? url : undefined
}

function refused(why: string): FetchedPicture {
  return { kind: 'refused', why }
}
