import { Failure, type Upstream } from '../domain/index.ts'
import { type Reach, SigningError } from '../plugin-api/index.ts'
import { ProxyError } from '../util/index.ts'
import { fail } from './errors.ts'
import { AddressRefused } from './foreign-url.ts'
import { type AnswerHeaders, connectionsMax, QueueFull, UnsendableRequest, WireFault } from './upstream/index.ts'

/** Before the first answer it is unknown when a connection will be free; a retry after this time costs little. */
const queueAgainMs = 2_000
const queueAgainMsMin = 1_000
const queueAgainMsMax = 30_000

/** The reason why an answer's head is unusable, if there is one. */
export function findFault(status: number, headers: AnswerHeaders): string | undefined {
  if (status < 200 || status > 599) return `status ${status}`
  const transfer = headers['transfer-encoding']
  if (transfer !== undefined) {
    if (typeof transfer !== 'string' || transfer.toLowerCase() !== 'chunked')
      return 'a transfer-encoding other than chunked'
    if (headers['content-length'] !== undefined) return 'both content-length and transfer-encoding'
  }
  if (status >= 300 && status < 400 && status !== 304) return `a redirect (${status}); redirects are not followed`
  return undefined
}

/** The failure of a request that could not be signed: with a reason that is no secret, or blaming the plugin. */
export function describeUnsigned(error: unknown): Error {
  if (error instanceof UnsendableRequest) return error
  const isKnown = error instanceof SigningError || error instanceof Failure
  const why = isKnown ? error.message.replace(/\.$/, '') : 'its signing plugin failed'
  return fail('upstream_unsigned', { why }, { cause: error })
}

/** The failure of a call, by how far it had come. */
export function describeFailure(error: Error, reach: Reach, upstream: Upstream): Error {
  const { code } = error as NodeJS.ErrnoException
  const extra = { cause: error }
  // A fault of ours or of a plugin, not of the upstream.
  if (error instanceof UnsendableRequest) return error
  if (error instanceof AddressRefused)
    return fail('upstream_address_refused', { url: `${error.host}, which leads into a private network` }, extra)
  if (error instanceof QueueFull) {
    const againMs = Math.min(Math.max(error.againMs ?? queueAgainMs, queueAgainMsMin), queueAgainMsMax)
    const max = upstream.connections ?? connectionsMax
    const words = { upstream: upstream.name, max, seconds: Math.ceil(againMs / 1_000) }
    return fail('upstream_queue_full', words, { ...extra, retryAfterMs: againMs })
  }
  if (reach === 'untouched') {
    if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT')
      return fail('upstream_connect_timeout', { ms: upstream.timeouts.connectMs }, extra)
    const reason = error instanceof ProxyError ? error.clientMessage : (code ?? error.name)
    return fail('upstream_unreachable', { reason }, extra)
  }
  if (error instanceof WireFault) return fail('upstream_invalid', { reason: 'it is not valid HTTP/1.1' }, extra)
  return fail('upstream_cut', { reason: code ?? error.message }, extra)
}
