import type { Configuration } from '../../api/shapes.ts'
import { FilterBar, FindFilter } from '../../kit/filter-bar.tsx'
import { Table } from '../../kit/table.tsx'
import { useQuery } from '../../query.ts'
import { t, tName } from '../../words/index.ts'

/** Values beyond this number are found by path. */
const shownOrigins = 100

/** The origin of each value. */
export function Origins({ of, main }: { readonly of: Configuration['origins']; readonly main: string }) {
  const { query, set } = useQuery()
  const find = (query['find'] ?? '').toLowerCase()
  const found = of.filter(({ path }) => path.toLowerCase().includes(find))
  const rows = found.slice(0, shownOrigins)
  return (
    <div class="stack">
      <FilterBar>
        <FindFilter label={t('config.find')} value={query['find']} isLive onPick={find => set({ find })} />
      </FilterBar>
      <div class="sheet">
        <Table
          label={t('config.origins')}
          rows={rows}
          rowKey={row => row.path}
          columns={[
            { head: t('config.path'), wide: true, cell: row => <code>{row.path}</code> },
            {
              head: t('config.value'),
              wide: true,
              cell: row => (
                <code class="theirs">{typeof row.value === 'string' ? row.value : JSON.stringify(row.value)}</code>
              ),
            },
            { head: t('config.from'), cell: row => tName('from', row.from) },
            {
              head: t('config.line'),
              numeric: true,
              cell: row => (row.file === null || row.file === main ? (row.line ?? '–') : `${row.file}:${row.line}`),
            },
          ]}
        />
      </div>
      {found.length > rows.length && <p class="quiet">{t('config.more', { count: found.length - rows.length })}</p>}
    </div>
  )
}
