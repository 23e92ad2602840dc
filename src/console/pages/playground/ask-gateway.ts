import { ApiError, call, queryText } from '../../api/call.ts'
import type { LogList, LogRecord, SessionKey } from '../../api/shapes.ts'

/** The last part of a key's lifetime, in which it is not used. */
const spareMs = 60_000
let kept: SessionKey | null = null
let asking: Promise<SessionKey> | undefined

/** The short-lived key of this session: the playground uses the same endpoints as every client. */
async function sessionKey(): Promise<SessionKey> {
  if (kept && Date.parse(kept.expires) - spareMs >= Date.now()) return kept
  // All concurrent requests share one request for a key, because each new key ends the previous one.
  asking ??= call<SessionKey>('/playground/key', { method: 'POST' }).finally(() => (asking = undefined))
  return (kept = await asking)
}

/** Drops the key, so that another user's requests use a new one. */
export function forgetKey(): void {
  kept = null
}

/** Identifies a request in the log, even if its answer never arrived. */
export type Mark = { readonly keyId: string; readonly clientId: string }

export type Asking = {
  readonly path: string
  readonly body: object | FormData
  readonly signal: AbortSignal
  /** Called before anything is sent. */
  readonly onMark: (mark: Mark) => void
}

/**
 * Calls `/v1`.
 * @throws ApiError the gateway's error for its client
 */
export async function askGateway({ path, body, signal, onMark }: Asking): Promise<Response> {
  const { id: keyId, key } = await sessionKey()
  signal.throwIfAborted()
  const clientId = `playground-${crypto.randomUUID()}`
  onMark({ keyId, clientId })
  const response = await fetch(path, {
    method: 'POST',
    credentials: 'omit',
    signal,
    headers: {
      authorization: `Bearer ${key}`,
      'x-request-id': clientId,
      ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  }).catch((error: unknown) => {
    if (signal.aborted) throw error
    throw new ApiError(0, 'offline', 'The gateway could not be reached.')
  })
  if (response.ok) return response
  // A key that ended with its session is not used again.
  if (response.status === 401) kept = null
  const { error } = (await response.json().catch(() => ({}))) as { error?: { message?: string } }
  throw new ApiError(response.status, 'v1', `${response.status} ${error?.message ?? ''}`, {
    request_id: response.headers.get('x-request-id') ?? '',
    retryAfter: Number(response.headers.get('retry-after')) || null,
  })
}

/** A charge settles when the last bytes of its answer are sent; its row is written a moment later. */
const soonTries = 15
const soonMs = 150
const laterMs = 1_000
/** The maximum time for which an upstream continues after its client has disconnected: a few minutes. */
const triesMax = 600
const rowsMax = 50

/**
 * The log row of a request of this session after its end, with its bill; undefined if it never appears. Reads the log
 * instead of `/v1`, so that reading a bill does not count as a request.
 */
export async function findRecord({ keyId, clientId }: Mark, isWanted: () => boolean): Promise<LogRecord | undefined> {
  for (let tries = 0; tries < triesMax && isWanted(); tries++) {
    try {
      const { records } = await call<LogList>(`/logs${queryText({ key: keyId, limit: rowsMax })}`)
      const found = records.find(record => record.client_request_id === clientId)
      if (found) return found
    } catch (error) {
      // A temporarily unreachable gateway gets a retry; an ended session does not.
      if (!(error instanceof ApiError) || error.status === 401 || error.status === 403) return undefined
    }
    await new Promise(resolve => setTimeout(resolve, tries < soonTries ? soonMs : laterMs))
  }
  return undefined
}
