import { useMemo } from 'preact/hooks'
import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import type { LatencyList } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { count, duration } from '../numbers.ts'
import { useQuery } from '../query.ts'
import { t, tName } from '../words/index.ts'
import { tOperation } from '../words/operation.ts'

type Row = LatencyList['rows'][number]

const hourMs = 3_600_000
const ranges = { '24h': 24, '7d': 168, '30d': 720 } as const
const names = Object.keys(ranges) as (keyof typeof ranges)[]

/**
 * The duration of requests, by model and operation. Requests without a model are separate, because they would improve
 * the figures.
 */
export function Latency() {
  const { query, set } = useQuery()
  const range = names.find(one => one === query['range']) ?? '24h'
  const since = useMemo(() => new Date(Date.now() - ranges[range] * hourMs).toISOString(), [range])
  const load = useLoad<LatencyList>(`/latency${queryText({ since })}`)
  return (
    <Page title={t('latency')}>
      <Tabs
        label={t('costs.range')}
        tabs={names.map(one => [one, t(`latency.${one}`)] as const)}
        value={range}
        onPick={value => set({ range: value })}
      >
        <Loaded of={load} shape="rows">
          {({ rows }) => {
            const calls = rows.filter(({ kind }) => kind === 'call')
            const others = rows.filter(({ kind }) => kind !== 'call')
            if (rows.length === 0) return <Empty title={t('latency.none')} />
            return (
              <div class="stack">
                <p class="quiet">{t('latency.text')}</p>
                {calls.length > 0 && <Rows label={t('latency')} rows={calls} since={since} />}
                {others.length > 0 && (
                  <section class="section">
                    <h2>{t('latency.others')}</h2>
                    <Rows label={t('latency.others')} rows={others} since={since} />
                  </section>
                )}
              </div>
            )
          }}
        </Loaded>
      </Tabs>
    </Page>
  )
}

function Rows({
  label,
  rows,
  since,
}: {
  readonly label: string
  readonly rows: readonly Row[]
  readonly since: string
}) {
  const columns: readonly Column<Row>[] = [
    {
      head: t('model'),
      heading: true,
      wide: true,
      cell: ({ kind, model, operation }) => (
        <a href={`/console/logs${queryText({ since, model, operation })}`}>
          <span class="theirs">{model ?? tName('latency.kind', kind)}</span>
        </a>
      ),
    },
    { head: t('operation'), cell: row => tOperation(row.operation) },
    { head: t('requests'), numeric: true, sortBy: row => row.requests, cell: row => count(row.requests) },
    { head: t('errors'), numeric: true, sortBy: row => row.errors, cell: row => count(row.errors) },
    { head: 'p50', numeric: true, sortBy: row => row.p50_ms, cell: row => duration(row.p50_ms) },
    { head: 'p95', numeric: true, sortBy: row => row.p95_ms, cell: row => duration(row.p95_ms) },
    { head: t('latency.first50'), numeric: true, cell: row => duration(row.first_byte_p50_ms) },
    { head: t('latency.first95'), numeric: true, cell: row => duration(row.first_byte_p95_ms) },
  ]
  return (
    <div class="sheet">
      <Table
        label={label}
        columns={columns}
        rows={rows}
        opens
        rowKey={({ kind, model, operation }) => `${kind} ${model} ${operation}`}
      />
    </div>
  )
}
