import { readHeaders, takePrefetched } from './prefetch.ts'

export { queryText } from './query-text.ts'

/** An error from the gateway, or an unreachable gateway (`offline`). */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** The name of the invalid form field. */
  readonly field: string | null
  readonly requestId: string | null
  /** Seconds to wait, if the gateway reports them. */
  readonly retryAfter: number | null
  readonly setupNeeded: boolean
  /** The reason within its code, and its values; the message has both in English. */
  readonly reason: string | null
  readonly values: { readonly [name: string]: string | number | null }

  constructor(
    status: number,
    code: string,
    message: string,
    more: ErrorBody['error'] & { retryAfter?: number | null } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.field = more.field ?? null
    this.requestId = more.request_id ?? null
    this.retryAfter = more.retryAfter ?? null
    this.setupNeeded = more.setup_needed ?? false
    this.reason = more.reason ?? null
    this.values = more.values ?? {}
  }
}

type ErrorBody = {
  error?: {
    code?: string
    message?: string
    field?: string | null
    request_id?: string
    setup_needed?: boolean
    values?: { readonly [name: string]: string | number | null }
    reason?: string
  }
}

type Call = {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly body?: object
  readonly signal?: AbortSignal
  /** Whether the request is an automatic poll, which does not prolong the session. */
  readonly isPoll?: boolean
  readonly timeoutMs?: number
}

/**
 * Called when the session has ended while the page is open. The promise settles when the same user has signed in again;
 * there is none if no user is shown.
 */
export const onSessionEnd: { run: () => Promise<void> | undefined } = { run: () => undefined }

/**
 * The user whom the page shows. The gateway refuses requests for another one: someone else may have signed in in another
 * tab, and would act here without knowing it.
 */
export const shownUser: { name: string | null } = { name: null }

/**
 * Calls the gateway's API; the browser adds the session's cookie. If the session has ended, the request waits until the
 * user has signed in again.
 * @throws ApiError
 */
export async function call<T>(path: string, of: Call = {}): Promise<T> {
  const { method = 'GET', body, isPoll = false, timeoutMs } = of
  const signals = [of.signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)]
  const response = await reach(`/api${path}`, {
    method,
    headers: {
      ...readHeaders,
      ...(shownUser.name !== null && { 'x-tollgate-user': encodeURIComponent(shownUser.name) }),
      ...(isPoll && { 'x-tollgate-poll': '1' }),
      ...(method !== 'GET' && { 'content-type': 'application/json' }),
    },
    ...(method !== 'GET' && { body: JSON.stringify(body ?? {}) }),
    signal: AbortSignal.any(signals.filter(signal => signal !== undefined)),
  })
  if (response.ok) {
    const answer = response.status === 204 ? undefined : await readAnswer(response)
    // The request of an early answer has no signal, so its body goes on.
    of.signal?.throwIfAborted()
    return answer as T
  }
  const error = await readError(response)
  const signedIn = error.code === 'not_logged_in' && !path.startsWith('/session') ? onSessionEnd.run() : undefined
  if (!signedIn) throw error
  await signedIn
  return call(path, of)
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    const early = init.method === 'GET' ? takePrefetched(url) : undefined
    const response = await (early ?? fetch(url, init))
    init.signal?.throwIfAborted()
    return response
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new ApiError(0, 'offline', 'The gateway could not be reached.')
  }
}

/** The API returns objects. Anything else, for example an error page of a proxy, cannot be shown. */
async function readAnswer(response: Response): Promise<object> {
  const answer: unknown = await response.json().catch(() => undefined)
  if (typeof answer !== 'object' || answer === null)
    throw new ApiError(response.status, 'unexpected', 'The gateway answered something that was not expected.')
  return answer
}

async function readError(response: Response): Promise<ApiError> {
  const { error = {} } = ((await response.json().catch(() => null)) ?? {}) as ErrorBody
  const retryAfter = Number(response.headers.get('retry-after')) || null
  const code = error.code ?? (response.status === 503 ? 'storage_unavailable' : 'unexpected')
  return new ApiError(response.status, code, error.message ?? `HTTP ${response.status}`, { ...error, retryAfter })
}
