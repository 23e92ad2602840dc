import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useMay, useSession } from '../api/session.ts'
import type { TrailList, TrailRow, TrailTotals } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { Kept, Loaded } from '../kit/loaded.tsx'
import { listPlace, Page } from '../kit/page.tsx'
import { Pager } from '../kit/pager.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { Totals } from '../kit/totals.tsx'
import { count } from '../numbers.ts'
import { useQuery } from '../query.ts'
import { t, tName } from '../words/index.ts'
import { addDays, isDate } from '../zone.ts'
import { AuditFilters } from './audit/audit-filters.tsx'
import { placeOf } from './audit/place-of.ts'
import { RefusedSignIns } from './audit/refused-sign-ins.tsx'
import { isNone, valueText, withNames } from './audit/value-text.ts'

const pageRows = 50
const actionsMost = 6
const filters = ['actor', 'action', 'subject'] as const

/** The changes, with their authors and reasons. */
export function Audit() {
  const { query, set } = useQuery()
  const chosen = Object.fromEntries(filters.map(name => [name, query[name]]))
  const span = { ...momentAs('since', query['since']), ...momentAs('until', query['until'], 1) }
  const filter = { ...chosen, ...span }
  const load = useLoad<TrailList>(`/audit${queryText({ ...filter, before: query['before'], limit: pageRows })}`)
  const totals = useLoad<TrailTotals>(`/audit/totals${queryText(filter)}`)
  const operates = useMay('operators')
  return (
    <Page title={t('nav.audit')} hasList>
      <AuditFilters query={query} set={set} keyNames={load.last?.key_names ?? {}} />
      <Kept of={totals}>
        {({ rows, actions }) =>
          rows > 0 && (
            <Totals
              of={[
                [t('audit.rows'), count(rows)],
                ...actions
                  .slice(0, actionsMost)
                  .map(({ action, rows }) => [tName('action', action), count(rows)] as const),
              ]}
            />
          )
        }
      </Kept>
      <div {...listPlace}>
        <Loaded of={load} shape="rows">
          {({ rows, next, key_names }) =>
            rows.length === 0 ? (
              <Empty title={t('audit.none')} />
            ) : (
              <>
                <div class="sheet">
                  <Table label={t('nav.audit')} rows={rows} rowKey={row => row.id} columns={columns(key_names)} />
                </div>
                <Pager next={next} busy={load.loading} />
              </>
            )
          }
        </Loaded>
      </div>
      {operates && <RefusedSignIns {...span} />}
    </Page>
  )
}

type Names = TrailList['key_names']

function columns(names: Names) {
  return [
    { head: t('time'), cell: (row: TrailRow) => <Time at={row.at} seconds /> },
    { head: t('audit.actor'), wide: true, cell: (row: TrailRow) => <span class="theirs">{row.actor}</span> },
    { head: t('audit.action'), cell: (row: TrailRow) => tName('action', row.action) },
    { head: t('audit.subject'), wide: true, cell: (row: TrailRow) => <Subject of={row} names={names} /> },
    { head: t('audit.change'), wide: true, cell: (row: TrailRow) => <Change of={row} names={names} /> },
    {
      head: t('reason'),
      wide: true,
      sparse: true,
      cell: (row: TrailRow) => row.reason && <span class="theirs">{row.reason}</span>,
    },
  ]
}

/** The start of a day in the reader's time zone, or of a day some days later, as a parameter. */
function momentAs(name: 'since' | 'until', day: string | undefined, later = 0): { readonly [name: string]: string } {
  const moment = new Date(`${isDate(day) ? addDays(day, later) : ''}T00:00`)
  return Number.isNaN(moment.getTime()) ? {} : { [name]: moment.toISOString() }
}

/** The target of a change by its name, with a link; the tooltip has its id. */
function Subject({ of: { action, subject, subject_name }, names }: { readonly of: TrailRow; readonly names: Names }) {
  const href = placeOf(action, subject, useSession().may)
  // An alert has no name: its event is in the list of alerts.
  const text = subject.startsWith('event/') ? t('audit.alert') : (subject_name ?? withNames(subject, names))
  // An id stays on one line, because people compare it with others letter by letter.
  const isId = /^[a-z]+_[0-9a-z]{20}$/.test(text)
  const name = isId ? <code class="theirs id">{text}</code> : <span class="theirs">{text}</span>
  const title = text === subject ? {} : { title: subject }
  return href === undefined ? (
    <span {...title}>{name}</span>
  ) : (
    <a href={href} {...title}>
      {name}
    </a>
  )
}

/** The old and the new value, field by field. */
function Change({ of: { before, after }, names: keys }: { readonly of: TrailRow; readonly names: Names }) {
  const textOf = (name: string, value: unknown) => withNames(valueText(name, value), keys)
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  // Something new has only new values.
  const names = fields.filter(name => before !== null || !isNone(after?.[name]))
  if (names.length === 0) return <>–</>
  return (
    <ul class="bare">
      {names.map(name => (
        <li key={name} class="theirs">
          {tName('field', name)}
          {t('colon')}
          {before && name in before && <del>{textOf(name, before[name])}</del>}{' '}
          {after && name in after && <ins>{textOf(name, after[name])}</ins>}
        </li>
      ))}
    </ul>
  )
}
