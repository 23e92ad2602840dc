import { useRoute } from 'preact-iso'
import { useEffect, useRef, useState } from 'preact/hooks'
import { queryText } from '../api/call.ts'
import { type Load, useLoad } from '../api/load.ts'
import { useMay, useSession } from '../api/session.ts'
import type { Histogram, LogList, LogRecord } from '../api/shapes.ts'
import { useTail } from '../api/tail.ts'
import { Empty } from '../kit/empty.tsx'
import { Icon } from '../kit/icon.tsx'
import { later } from '../kit/later.tsx'
import { Kept, Loaded } from '../kit/loaded.tsx'
import { listPlace, Page } from '../kit/page.tsx'
import { Pager } from '../kit/pager.tsx'
import { Table } from '../kit/table.tsx'
import { Views } from '../kit/views.tsx'
import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { ColumnChip, columnsOf, readColumns } from './logs/columns.tsx'
import { LogDrawer } from './logs/log-drawer.tsx'
import { LogFilters } from './logs/log-filters.tsx'
import { LogTotals } from './logs/log-totals.tsx'
import { readFilter, viewOf } from './logs/read-filter.ts'

const Chart = later(async () => (await import('../kit/chart.tsx')).Chart, null)

const pageRows = 50
const liveMax = 100
const none: readonly LogRecord[] = []

/** All requests, newest first. */
export function Logs() {
  const { query, set, route } = useQuery()
  const { params } = useRoute()
  const readsAll = useMay('readers')
  const { user } = useSession()
  const filter = readFilter(query)
  const filterText = queryText(filter)
  const page = queryText({ ...filter, before: query['before'], limit: pageRows })
  const load = useLoad<LogList>(`/logs${page}`)
  const histogram = useLoad<Histogram>(`/logs/histogram${filterText}`)
  const live = query['live'] === '1' && !query['before']
  const fresh = useFresh(live ? filterText : null, load)
  const id = params['id']
  const keys = { names: load.last?.key_names ?? {}, sessions: new Set(load.last?.key_sessions) }
  const columns = readColumns(query['cols'])
  return (
    <Page title={t('nav.logs')} hasList actions={<Actions live={live} state={fresh.state} filter={filter} set={set} />}>
      <div class="stack tight">
        <LogFilters query={query} set={set} readsAll={readsAll} keyNames={keys.names} />
        <div class="chart-slot">
          <Kept of={histogram}>{of => <Chart of={of} label={t('chart.requests')} />}</Kept>
        </div>
        <div class="line-of">
          <div class="place-of-line">
            <LogTotals filter={filterText} query={query} />
          </div>
          <div class="inline">
            <Views owner={user.name} at="/console/logs" query={viewOf(query)} />
            <ColumnChip
              chosen={columns}
              readsAll={readsAll}
              set={change => set({ ...change, before: query['before'] })}
            />
          </div>
        </div>
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
                    columns={columnsOf(columns, { query: setQuery(query, {}), keys, readsAll })}
                    rows={rows}
                    rowKey={record => record.id}
                    dense
                    opens
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

function Actions({
  live,
  state,
  filter,
  set,
}: {
  readonly live: boolean
  readonly state: 'off' | 'joining' | 'live'
  readonly filter: { readonly [name: string]: string }
  readonly set: (change: { readonly live: string | null }) => void
}) {
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          role="switch"
          checked={live}
          onChange={event => set({ live: event.currentTarget.checked ? '1' : null })}
        />
        {t(live ? `logs.live.${state}` : 'logs.live')}
      </label>
      <a class="button" href="/console/logs?range=today&result=unsuccessful">
        {t('logs.failures')}
      </a>
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
  )
}

/** Requests that ended since the page was opened, newest first. */
function useFresh(filterText: string | null, { value, reload }: Load<LogList>) {
  const [records, setRecords] = useState(none)
  const listed = useRef<ReadonlySet<string>>(new Set())
  const state = useTail(filterText, record =>
    setRecords(before => [record, ...before.filter(one => one.id !== record.id)].slice(0, liveMax)),
  )
  useEffect(() => setRecords(none), [filterText])
  useEffect(() => {
    if (state !== 'live') return
    // The list was loaded earlier, and lacks what ended before the stream was connected, also again. The new list has
    // the records of the earlier stream, or newer ones: these stay until it is there.
    listed.current = new Set(records.map(record => record.id))
    reload()
  }, [state])
  useEffect(() => setRecords(now => now.filter(record => !listed.current.has(record.id))), [value])
  return { records, state }
}
