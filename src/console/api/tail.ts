import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from './call.ts'
import type { LogRecord } from './shapes.ts'

/** The pause before a refused or cut stream is opened again. */
const pauseMs = 3_000

/** Reports each request as it ends. `filter` is a query (`?…` or empty); null stops it. */
export function useTail(filter: string | null, onRecord: (record: LogRecord) => void): 'off' | 'joining' | 'live' {
  const [state, setState] = useState<'off' | 'joining' | 'live'>('off')
  const latest = useRef(onRecord)
  latest.current = onRecord
  useEffect(() => {
    if (filter === null) {
      setState('off')
      return undefined
    }
    const gone = new AbortController()
    let current: EventSource | undefined
    const open = () => {
      if (gone.signal.aborted) return
      setState('joining')
      const source = (current = new EventSource(`/api/logs/tail${filter}`))
      source.addEventListener('open', () => setState('live'))
      source.addEventListener('error', () => {
        setState('joining')
        // The browser neither retries nor explains a refused stream. It opens a cut one again with the missed events,
        // which the page loads itself, in their order. If the session has ended, this request waits until the user has
        // signed in again.
        source.close()
        void call('/account/sessions', { signal: gone.signal, isPoll: true })
          .catch(() => undefined)
          .then(() => setTimeout(open, pauseMs))
      })
      source.addEventListener('log', event => latest.current(JSON.parse(event.data as string) as LogRecord))
    }
    open()
    return () => {
      gone.abort()
      current?.close()
    }
  }, [filter])
  return state
}
