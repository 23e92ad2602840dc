import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'

/** On to older rows, and back to the newest; what is shown stands in the address. */
export function Pager({ next }: { readonly next: string | null }) {
  const { query, path } = useQuery()
  if (!next && !query['before']) return null
  return (
    <nav class="pager" aria-label={t('pager')}>
      {query['before'] && <a href={path + setQuery(query, { before: null })}>{t('pager.newest')}</a>}
      {next && <a href={path + setQuery(query, { before: next })}>{t('pager.older')}</a>}
    </nav>
  )
}
