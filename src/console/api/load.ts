import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, call } from './call.ts'

export type Load<T> = {
  /** The last answer for this path; undefined while the first answer for a changed path loads. */
  readonly value: T | undefined
  /** The last value, for this path or an earlier one: `Kept` shows it in the meantime. */
  readonly last: T | undefined
  readonly error: ApiError | undefined
  readonly loading: boolean
  readonly reload: () => void
  /** Replaces the value without a request. */
  readonly put: (value: T) => void
}

/** Loads a path of the API, again after each change of the path; null loads nothing. */
export function useLoad<T>(path: string | null): Load<T> {
  const [turn, setTurn] = useState(0)
  const [state, setState] = useState<{
    path: string | null
    value?: T
    /** The path of the value. */
    of?: string | null
    error?: ApiError
    loading: boolean
  }>({ path, loading: path !== null })
  const latest = useRef(state)
  latest.current = state
  useEffect(() => {
    if (path === null) return undefined
    const abort = new AbortController()
    setState({ ...latest.current, path, loading: true })
    call<T>(path, { signal: abort.signal }).then(
      value => setState({ path, value, of: path, loading: false }),
      (error: unknown) => {
        if (abort.signal.aborted) return
        setState({
          path,
          error: error instanceof ApiError ? error : new ApiError(0, 'unexpected', String(error)),
          loading: false,
        })
      },
    )
    return () => abort.abort()
  }, [path, turn])
  return {
    value: path === null || state.of !== path ? undefined : state.value,
    last: path === null ? undefined : state.value,
    error: state.error,
    // A changed path starts to load only after this render.
    loading: state.loading || (path !== null && state.path !== path),
    reload: () => setTurn(turn + 1),
    put: value => setState({ path, value, of: path, loading: false }),
  }
}
