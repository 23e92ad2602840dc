import type { SystemState } from '../../api/shapes.ts'
import { Status } from '../../kit/status.tsx'
import { Table } from '../../kit/table.tsx'
import { count, duration } from '../../numbers.ts'
import { t } from '../../words/index.ts'

type Row = {
  readonly what: string
  readonly name: string
  readonly taken: number
  readonly most: number
  /**
   * Requests that wait for a slot: their number, and the waiting times in the last minutes. Null if they do not wait.
   */
  readonly queue: Pick<
    SystemState['upstream_connections'][number],
    'waiting' | 'waited' | 'wait_p50_ms' | 'wait_p95_ms'
  > | null
}

/** The used slots of everything with a concurrency limit, and the requests that wait for one. */
export function Places({ of: { places, upstream_connections: connections } }: { readonly of: SystemState }) {
  const rows: readonly Row[] = [
    ...places.map(({ of, name, taken, limit }) => ({
      what: t(`system.places.${of}`),
      name,
      taken,
      most: limit,
      queue: null,
    })),
    ...connections.flatMap(({ upstream, shared_with: others, busy, most, ...queue }, at) => {
      // Upstreams with shared connections have one row.
      const isShown = connections.slice(0, at).some(one => others.includes(one.upstream))
      const name = [upstream, ...others].join(', ')
      return isShown ? [] : [{ what: t('system.places.connections'), name, taken: busy, most, queue }]
    }),
  ]
  if (rows.length === 0) return null
  return (
    <section class="section">
      <h2>{t('system.places')}</h2>
      <p class="quiet">{t('system.places.text')}</p>
      <div class="sheet">
        <Table
          label={t('system.places')}
          rows={rows}
          rowKey={({ what, name }) => `${what} ${name}`}
          columns={[
            { head: t('system.places.of'), cell: ({ what }) => what },
            { head: t('system.places.name'), wide: true, cell: ({ name }) => <span class="theirs">{name}</span> },
            {
              head: t('system.places.taken'),
              numeric: true,
              cell: ({ taken, most }) => (
                <span class="inline">
                  {taken >= most && <Status name="full" tone="warn" />}
                  {t('system.of', { value: count(taken), most: count(most) })}
                </span>
              ),
            },
            {
              head: t('system.places.waiting'),
              numeric: true,
              cell: ({ queue }) => (queue ? count(queue.waiting) : '–'),
            },
            {
              head: t('system.places.waited'),
              numeric: true,
              cell: ({ queue }) => (queue ? count(queue.waited) : '–'),
            },
            { head: 'p50', numeric: true, cell: ({ queue }) => duration(queue?.wait_p50_ms ?? null) },
            { head: 'p95', numeric: true, cell: ({ queue }) => duration(queue?.wait_p95_ms ?? null) },
          ]}
        />
      </div>
    </section>
  )
}
