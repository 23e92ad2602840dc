import { isIP } from 'node:net'
import type { FeedEvent, WebhookConfig } from '../domain/index.ts'
import { type Clock, guardedLookup, isPublicAddress, plainHost } from '../util/index.ts'
import { answerMs, failed, reasonOf, type Sent } from './post.ts'
import { plainText } from './write-body.ts'

type Letter = { readonly from: string; readonly to: readonly string[]; readonly event: FeedEvent }

/** Sends mail by SMTP. The library is loaded for the first mail. */
export class Mailer {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Never rejects. */
  async send({ url, allowPrivate }: WebhookConfig, letter: Letter, signal: AbortSignal): Promise<Sent> {
    const late = Promise.withResolvers<Sent>()
    const stop = new AbortController()
    const limit = this.#clock.after(answerMs, () => late.resolve(failed(`no response in ${answerMs / 1_000} s`)))
    const leave = (): void => late.resolve({ kind: 'left' })
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    try {
      return await Promise.race([this.#send(new URL(url), allowPrivate, letter, stop.signal), late.promise])
    } catch (error) {
      return failed(reasonOf(error))
    } finally {
      limit.cancel()
      signal.removeEventListener('abort', leave)
      // Closes a connection that is still open: a letter that is sent again does not arrive late as well.
      stop.abort()
    }
  }

  async #send(url: URL, allowPrivate: boolean, { from, to, event }: Letter, signal: AbortSignal): Promise<Sent> {
    const name = plainHost(url)
    if (!allowPrivate && isIP(name) !== 0 && !isPublicAddress(name))
      return failed(`${name} is not a public internet address`)
    const host = allowPrivate || isIP(name) !== 0 ? name : await resolvePublic(name)
    const { createTransport } = await import('nodemailer')
    const secure = url.protocol === 'smtps:'
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
    const transport = createTransport({
      host,
      port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
      secure,
      // Neither mail nor password may cross a public network without encryption.
      requireTLS: !secure && !allowPrivate,
      ...(isIP(name) === 0 && { tls: { servername: name } }),
      ...(user !== '' && { auth: { user, pass } }),
      connectionTimeout: answerMs,
      greetingTimeout: answerMs,
      socketTimeout: answerMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    try {
      const text = plainText(event)
      await transport.sendMail({
        from,
        to: [...to],
        subject: `Tollgate: ${event.kind}`,
        messageId: `<${event.id}@tollgate>`,
        signal,
        text: `${text}\n\n${event.kind}, ${new Date(event.at).toISOString()}, ${event.id}\n`,
      })
      return { kind: 'arrived' }
    } finally {
      transport.close()
    }
  }
}

/**
 * Returns the checked address, so that the connection does not resolve the name again.
 * @throws AddressRefused
 */
function resolvePublic(name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    guardedLookup()(name, { all: false }, (error, address) => {
      if (error) reject(error)
      else resolve(address as string)
    })
  })
}
