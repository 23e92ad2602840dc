import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import type { Load } from '../../api/load.ts'
import type { LogTotals } from '../../api/shapes.ts'
import { addTotals } from './add-totals.ts'

/** The totals so far; `since` is their start while they are incomplete. `isBroken`: a further answer failed. */
export type SoFar = LogTotals & { readonly isBroken: boolean }

/** The totals of a filter, added up answer by answer while the page is open. `filter`: a query, `?…` or empty. */
export function useAllTotals(filter: string): Pick<Load<SoFar>, 'value' | 'last' | 'loading'> {
  const [{ last, of }, put] = useState<{ readonly last?: SoFar | undefined; readonly of?: string }>({})
  useEffect(() => {
    const abort = new AbortController()
    void addUp(filter, abort.signal, value => put({ last: value, of: filter }))
    return () => abort.abort()
  }, [filter])
  return { value: of === filter ? last : undefined, last, loading: of !== filter }
}

async function addUp(filter: string, signal: AbortSignal, put: (value: SoFar | undefined) => void): Promise<void> {
  let all: LogTotals | undefined
  do {
    const before: string = all ? `${filter === '' ? '?' : '&'}before=${all.next}` : ''
    try {
      const some: LogTotals = await call<LogTotals>(`/logs/totals${filter}${before}`, { signal })
      all = all ? addTotals(all, some) : some
    } catch {
      if (!signal.aborted) put(all && { ...all, isBroken: true })
      return
    }
    if (signal.aborted) return
    put({ ...all, isBroken: false })
  } while (all.next !== null)
}
