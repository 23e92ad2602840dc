import { ApiError, call } from '../../api/call.ts'
import type { BillingRecord, SessionKey } from '../../api/shapes.ts'

/** A key is not used in its last minute. */
const spareMs = 60_000
let kept: SessionKey | null = null

/** The short-lived key of this session: the playground goes in by the same door as every caller. */
async function sessionKey(): Promise<string> {
  if (!kept || Date.parse(kept.expires) - spareMs < Date.now())
    kept = await call<SessionKey>('/playground/key', { method: 'POST' })
  return kept.key
}

/**
 * Asks `/v1`.
 * @throws ApiError what the gateway answered its caller
 */
export async function askGateway(path: string, body: object | FormData | null, signal: AbortSignal): Promise<Response> {
  const response = await fetch(path, {
    method: body === null ? 'GET' : 'POST',
    credentials: 'omit',
    signal,
    headers: {
      authorization: `Bearer ${await sessionKey()}`,
      ...(body !== null && !(body instanceof FormData) && { 'content-type': 'application/json' }),
    },
    ...(body !== null && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  }).catch((error: unknown) => {
    if (signal.aborted) throw error
    throw new ApiError(0, 'offline', 'The gateway could not be reached.')
  })
  if (response.ok) return response
  // A key that ended with its session is not tried again.
  if (response.status === 401) kept = null
  const { error } = (await response.json().catch(() => ({}))) as { error?: { message?: string } }
  throw new ApiError(response.status, 'v1', `${response.status} ${error?.message ?? ''}`, {
    request_id: requestId(response),
    retryAfter: Number(response.headers.get('retry-after')) || null,
  })
}

export function requestId(response: Response): string {
  return response.headers.get('x-request-id') ?? ''
}

/** A charge settles as its answer's last bytes leave: soon after they are here, it is settled. */
const settleTries = 10
const settlePauseMs = 150

/** What a request of this session cost, as its caller is told; undefined where nothing was charged. */
export async function askBill(
  id: string,
  signal: AbortSignal,
  tries = settleTries,
): Promise<BillingRecord | undefined> {
  try {
    const response = await askGateway(`/v1/charges/${encodeURIComponent(id)}`, null, signal)
    const bill = (await response.json()) as BillingRecord
    if (bill.state !== 'reserved' || tries <= 1) return bill
    await new Promise(resolve => setTimeout(resolve, settlePauseMs))
    return await askBill(id, signal, tries - 1)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}
