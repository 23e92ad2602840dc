import { useRoute } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import { kindOfRow } from '../../domain/row-kind.ts'
import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useMay, useSession } from '../api/session.ts'
import type { Histogram, LogRecord, LogList } from '../api/shapes.ts'
import { useTail } from '../api/tail.ts'
import { Charged } from '../kit/charged.tsx'
import { Empty } from '../kit/empty.tsx'
import { Icon } from '../kit/icon.tsx'
import { later } from '../kit/later.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { listPlace, Page } from '../kit/page.tsx'
import { Pager } from '../kit/pager.tsx'
import { Skeleton } from '../kit/skeleton.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { Views } from '../kit/views.tsx'
import { duration } from '../numbers.ts'
import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { tOperation } from '../words/operation.ts'
import { LogDrawer } from './logs/log-drawer.tsx'
import { label, LogFilters, readFilter } from './logs/log-filters.tsx'
import { LogTotals } from './logs/log-totals.tsx'
import { Outcome } from './logs/outcome.tsx'

const Chart = later(async () => (await import('../kit/chart.tsx')).Chart, 'bars')

const pageRows = 50
const liveMax = 100
const none: readonly LogRecord[] = []

/** All requests, newest first. */
export function Logs() {
  const { query, set, route } = useQuery()
  const { params } = useRoute()
  const admin = useMay('readers')
  const { user } = useSession()
  const filter = readFilter(query)
  const filterText = queryText(filter)
  const page = queryText({ ...filter, before: query['before'], limit: pageRows })
  const load = useLoad<LogList>(`/logs${page}`)
  const histogram = useLoad<Histogram>(`/logs/histogram${filterText}`)
  const live = query['live'] === '1' && !query['before']
  const fresh = useFresh(live ? filterText : null)
  const id = params['id']
  return (
    <Page
      title={t('nav.logs')}
      hasList
      actions={
        <>
          <label class="check">
            <input
              type="checkbox"
              role="switch"
              checked={live}
              onChange={event => set({ live: event.currentTarget.checked ? '1' : null })}
            />
            {t(live ? `logs.live.${fresh.state}` : 'logs.live')}
          </label>
          <a class="button" href="/console/latency">
            {t('latency')}
          </a>
          {(['csv', 'jsonl'] as const).map(format => (
            <a
              key={format}
              class="button"
              href={`/api/logs/export${queryText({ ...filter, format })}`}
              download={`tollgate-logs.${format}`}
            >
              <Icon name="down" />
              {format.toUpperCase()}
            </a>
          ))}
        </>
      }
    >
      <LogFilters query={query} set={set} admin={admin}>
        <Views owner={user.name} at="/console/logs" query={filter} />
      </LogFilters>
      {histogram.value === undefined && histogram.loading && <Skeleton shape="chart" />}
      {histogram.value && histogram.value.steps.length > 0 && (
        <div class="card">
          <Chart
            steps={histogram.value.steps}
            since={histogram.value.since}
            until={histogram.value.until}
            stepMs={histogram.value.step_ms}
            label={t('chart.requests')}
          />
        </div>
      )}
      <div class="place-of-line">
        <LogTotals filter={filterText} />
      </div>
      <div {...listPlace}>
        <Loaded of={load} shape="rows">
          {({ records, next }) => {
            const known = new Set(records.map(record => record.id))
            const rows = [...fresh.records.filter(record => !known.has(record.id)), ...records]
            if (rows.length === 0) return <Empty title={t(filterText ? 'logs.none.filtered' : 'logs.none')} />
            return (
              <>
                <div class="sheet" aria-live={live ? 'polite' : 'off'}>
                  <Table
                    label={t('nav.logs')}
                    columns={columns(admin, setQuery(query, {}))}
                    rows={rows}
                    rowKey={record => record.id}
                  />
                </div>
                <Pager next={next} busy={load.loading} />
              </>
            )
          }}
        </Loaded>
      </div>
      {id && (
        <LogDrawer
          key={id}
          id={id}
          onChanged={load.reload}
          onClose={() => route(`/console/logs${setQuery(query, {})}`)}
        />
      )}
    </Page>
  )
}

/** Requests that ended since the page was opened, newest first. */
function useFresh(filterText: string | null) {
  const [records, setRecords] = useState(none)
  useEffect(() => setRecords(none), [filterText])
  const state = useTail(filterText, record =>
    setRecords(before => [record, ...before.filter(one => one.id !== record.id)].slice(0, liveMax)),
  )
  return { records, state }
}

function columns(admin: boolean, query: string): readonly Column<LogRecord>[] {
  return [
    {
      head: t('time'),
      cell: record => (
        <a href={`/console/logs/${encodeURIComponent(record.id)}${query}`}>
          <Time at={record.time} seconds />
        </a>
      ),
    },
    { head: t('model'), wide: true, cell: record => <span class="theirs">{record.model ?? '–'}</span> },
    {
      head: t('operation'),
      cell: record => (
        <>
          {tOperation(record.operation)}
          {kindOfRow(record) === 'lookup' && (
            <span class="tag" title={t('logs.lookup.text')}>
              {t('logs.lookup')}
            </span>
          )}
        </>
      ),
    },
    ...(admin
      ? [{ head: t('user'), wide: true, cell: (record: LogRecord) => <span class="theirs">{record.user ?? '–'}</span> }]
      : []),
    { head: t('status'), cell: record => <Outcome of={record} /> },
    {
      head: label('图片档位', t('label.tier')),
      cell: record => record.billing?.tier ?? (record.billing?.count ? t('logs.mixed') : '–'),
    },
    {
      head: t('amount'),
      numeric: true,
      cell: ({ billing }) => (billing ? <Charged of={billing} /> : '–'),
    },
    { head: t('duration'), numeric: true, cell: record => duration(record.duration_ms) },
  ]
}
