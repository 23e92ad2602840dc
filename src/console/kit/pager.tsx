import { useEffect, useRef } from 'preact/hooks'
import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'

/**
 * Links to the next rows and to the first ones; the address has the position. A new page begins at the top. `isByTime`:
 * whether the newest rows are the first.
 */
export function Pager({
  next,
  busy = false,
  isByTime = true,
}: {
  readonly next: string | null
  readonly busy?: boolean
  readonly isByTime?: boolean
}) {
  const { query, path } = useQuery()
  const before = query['before'] ?? ''
  const shown = useRef(before)
  useEffect(() => {
    // The previous rows are shown until the next are loaded.
    if (busy || shown.current === before) return
    shown.current = before
    const heading = document.querySelector<HTMLElement>('main h1')
    heading?.focus({ preventScroll: true })
    scrollTo({ top: 0 })
  }, [before, busy])
  if (!next && !query['before']) return null
  return (
    <nav class="pager" aria-label={t('pager')} aria-busy={busy}>
      {query['before'] && (
        <a href={path + setQuery(query, { before: null })}>{t(isByTime ? 'pager.newest' : 'pager.first')}</a>
      )}
      {next && <a href={path + setQuery(query, { before: next })}>{t(isByTime ? 'pager.older' : 'pager.next')}</a>}
      {busy && <span role="status">{t('loading')}</span>}
    </nav>
  )
}
