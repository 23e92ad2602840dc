import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from './call.ts'
import { useSession } from './session.ts'
import type { LogRecord } from './shapes.ts'

/** Reports each request as it ends. `filter` is a query (`?…` or empty); null stops it. */
export function useTail(filter: string | null, onRecord: (record: LogRecord) => void): 'off' | 'joining' | 'live' {
  const [state, setState] = useState<'off' | 'joining' | 'live'>('off')
  const session = useSession()
  const latest = useRef(onRecord)
  latest.current = onRecord
  useEffect(() => {
    if (filter === null) {
      setState('off')
      return undefined
    }
    setState('joining')
    const source = new EventSource(`/api/logs/tail${filter}`)
    source.addEventListener('open', () => setState('live'))
    source.addEventListener('error', () => {
      setState('joining')
      // The browser neither retries nor explains a refused stream: a request reports whether the session has ended.
      if (source.readyState === EventSource.CLOSED) call('/account/sessions').catch(() => undefined)
    })
    source.addEventListener('log', event => latest.current(JSON.parse(event.data as string) as LogRecord))
    return () => source.close()
    // A user who signs in again gets a new session.
  }, [filter, session])
  return state
}
