import type { Clock } from '../util/clock.ts'
import { type Minted, type SignerHost, SigningError } from './signer.ts'
import { parseObject } from '../util/index.ts'

type TokenAsk = {
  readonly url: string
  /** The form to send. */
  readonly form: { readonly [name: string]: string }
  /** Additional headers: a flat list of names and values. */
  readonly headers?: readonly string[]
  readonly clock: Pick<Clock, 'now'>
  readonly post: SignerHost['post']
}

/** The validity of a token in seconds, if its response does not state it. */
const lifeS = 300

/**
 * Gets a token by OAuth (RFC 6749 5.1): sends a form, and reads JSON with `access_token` and `expires_in`.
 * @throws SigningError for any other answer; Failure upstream_* if there is none
 */
export async function askForToken({ url, form, headers = [], clock, post }: TokenAsk): Promise<Minted> {
  const sentAt = clock.now()
  const answer = await post(url, {
    headers: ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json', ...headers],
    body: new URLSearchParams(form).toString(),
  })
  const response = parseObject(answer.body) ?? {}
  if (answer.status !== 200)
    throw new SigningError(
      `${new URL(url).host} refused to issue a token, with status ${answer.status}${wordOf(response['error'])}`,
    )
  const { access_token: token, expires_in: given } = response
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new SigningError(`${new URL(url).host} responded without a token`)
  const seconds = Number(given ?? lifeS)
  return { token, until: sentAt + (seconds > 0 ? seconds : lifeS) * 1_000 }
}

/** The registered error code (RFC 6749 5.2). No other part of the response is reported. */
function wordOf(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : ''
}
