import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import type { TrailList, TrailRow } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Pager } from '../kit/pager.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { useQuery } from '../query.ts'
import { t, tName } from '../words/index.ts'
import { FilterLine } from '../kit/filter-line.tsx'

const pageRows = 50
const filters = ['actor', 'action', 'subject'] as const

/** Who changed what, and why. */
export function Audit() {
  const { query, set } = useQuery()
  const chosen = Object.fromEntries(filters.map(name => [name, query[name]]))
  const load = useLoad<TrailList>(`/audit${queryText({ ...chosen, before: query['before'], limit: pageRows })}`)
  return (
    <Page title={t('nav.audit')}>
      <search class="filters">
        {filters.map(name => (
          <FilterLine
            key={name}
            label={t(`audit.${name}`)}
            value={query[name] ?? ''}
            onPick={value => set({ [name]: value })}
          />
        ))}
      </search>
      <Loaded of={load}>
        {({ rows, next }) =>
          rows.length === 0 ? (
            <Empty title={t('audit.none')} />
          ) : (
            <>
              <div class="sheet">
                <Table label={t('nav.audit')} rows={rows} rowKey={row => row.id} columns={columns()} />
              </div>
              <Pager next={next} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function columns() {
  return [
    { head: t('time'), cell: (row: TrailRow) => <Time at={row.at} seconds /> },
    { head: t('audit.actor'), wide: true, cell: (row: TrailRow) => <span class="theirs">{row.actor}</span> },
    { head: t('audit.action'), cell: (row: TrailRow) => tName('action', row.action) },
    { head: t('audit.subject'), wide: true, cell: (row: TrailRow) => <code class="theirs">{row.subject}</code> },
    { head: t('audit.change'), wide: true, cell: (row: TrailRow) => <Change of={row} /> },
    { head: t('reason'), wide: true, cell: (row: TrailRow) => <span class="theirs">{row.reason ?? '–'}</span> },
  ]
}

/** What it was and what it became, field by field. */
function Change({ of: { before, after } }: { readonly of: TrailRow }) {
  const told = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  // Of what is new, only what it has.
  const names = told.filter(name => before !== null || after?.[name] !== null)
  if (names.length === 0) return <>–</>
  return (
    <ul class="bare">
      {names.map(name => (
        <li key={name} class="theirs">
          {name}
          {t('colon')}
          {before && name in before && <del>{valueText(before[name])}</del>}{' '}
          {after && name in after && <ins>{valueText(after[name])}</ins>}
        </li>
      ))}
    </ul>
  )
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
