import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, call } from './call.ts'
import type { Load } from './load.ts'

/** The longest period of polls, which grows while the gateway does not answer. */
const longestMs = 60_000
const answerMs = 15_000
/** A value older than this many periods is stale when a user returns to the page. */
const periodsKept = 3

export type Poll<T> = Load<T> & {
  /** The time of the last answer; the value stays until there is a newer one. */
  readonly at: string | null
  /** Whether the last request failed, so that the value is stale. */
  readonly isStale: boolean
}

type State<T> = {
  readonly value?: T
  /** The path of the value. */
  readonly of?: string | null
  readonly at: string | null
  readonly error?: ApiError
  readonly loading: boolean
  readonly isOld?: boolean
}

/**
 * Polls a path of the API and keeps the last value. A hidden page does not poll, and polls at once when it becomes
 * visible. `error` is set only without a value.
 */
export function usePoll<T>(path: string | null, everyMs: number): Poll<T> {
  const [state, setState] = useState<State<T>>({ at: null, loading: path !== null })
  const ask = useRef<() => void>(() => undefined)
  useEffect(() => {
    if (path === null) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let asking: AbortController | undefined
    let failures = 0
    let answeredAt = Date.now()
    const run = async (isPoll: boolean): Promise<void> => {
      clearTimeout(timer)
      asking?.abort()
      const own = (asking = new AbortController())
      try {
        const value = await call<T>(path, {
          signal: own.signal,
          timeoutMs: answerMs,
          isPoll,
        })
        if (own.signal.aborted) return
        failures = 0
        answeredAt = Date.now()
        setState({ value, of: path, at: new Date().toISOString(), loading: false })
      } catch (error) {
        if (own.signal.aborted) return
        failures++
        const apiError = error instanceof ApiError ? error : new ApiError(0, 'offline', String(error))
        setState(before => ({ ...before, error: apiError, loading: false }))
      }
      if (!document.hidden) timer = setTimeout(again, Math.min(everyMs * 2 ** failures, longestMs))
    }
    const start = (): void => void run(false)
    const again = (): void => void run(true)
    const look = (): void => {
      if (document.hidden) clearTimeout(timer)
      else {
        if (Date.now() - answeredAt > periodsKept * everyMs) setState(before => ({ ...before, isOld: true }))
        start()
      }
    }
    ask.current = start
    // Opening a page or returning to it counts as use of the session; later requests are automatic.
    start()
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      clearTimeout(timer)
      asking?.abort()
    }
  }, [path, everyMs])
  const { value: last, of, at, error, loading, isOld = false } = state
  const value = of === path ? last : undefined
  return {
    value,
    last,
    at,
    isStale: (error !== undefined || isOld) && value !== undefined,
    error: value === undefined ? error : undefined,
    loading: loading || (value === undefined && error === undefined),
    reload: () => ask.current(),
    put: newer => setState({ value: newer, of: path, at: new Date().toISOString(), loading: false }),
  }
}
