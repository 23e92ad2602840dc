import { useMay } from '../api/session.ts'
import { usePoll } from '../api/poll.ts'
import type { SystemState } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Facts } from '../kit/facts.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Stale } from '../kit/stale.tsx'
import { Status } from '../kit/status.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { Totals } from '../kit/totals.tsx'
import { bytes, count, duration } from '../numbers.ts'
import { shownExact } from '../shown-money.ts'
import { t } from '../words/index.ts'
import { tOperation } from '../words/operation.ts'
import { Places } from './system/places.tsx'
import { PurgeCache } from './system/purge-cache.tsx'
import { Upstreams } from './system/upstreams.tsx'

const everyMs = 5_000

/**
 * The live state of the gateway. Each part states whether it covers all gateways on the storage or only one process.
 */
export function System() {
  const load = usePoll<SystemState>('/system', everyMs)
  const isAdmin = useMay('admin')
  return (
    <Page title={t('nav.system')} actions={<Button onClick={load.reload}>{t('refresh')}</Button>}>
      <Stale of={load} />
      <Loaded of={load}>
        {system => (
          <div class="stack">
            {system.needs_review > 0 && (
              <p class="note warn">
                {t('system.review', { count: system.needs_review })}{' '}
                <a href="/console/logs?charge=needs_review">{t('nav.logs')}</a>
              </p>
            )}
            {system.disk_free !== null && system.disk_free < system.disk_min && (
              <p class="note bad">
                {t('system.disk.low', { free: bytes(system.disk_free), least: bytes(system.disk_min) })}
              </p>
            )}
            <Traffic of={system} />
            <div class="cards">
              <section class="card">
                <h2>{t('system.process')}</h2>
                <p class="quiet">{t('system.process.text')}</p>
                <Facts
                  of={[
                    [t('system.version'), system.version],
                    ['Node', system.node],
                    [t('system.started'), <Time at={system.started} />],
                    [t('system.open'), count(system.open_requests)],
                    [t('system.connections'), ofMost(count, system.connections, system.connections_max)],
                    [t('system.bodies'), ofMost(bytes, system.bodies_memory, system.bodies_memory_max)],
                    [t('system.loop'), duration(system.event_loop_p99_ms)],
                    [t('system.memory'), bytes(system.memory)],
                    [t('system.disk'), system.disk_free === null ? '–' : bytes(system.disk_free)],
                  ]}
                />
              </section>
              <section class="card">
                <h2>{t('system.stores')}</h2>
                <Facts
                  of={[
                    [t('system.storage'), <Store of={system.storage} />],
                    [t('system.counters'), <Store of={system.counters} />],
                    [
                      t('system.writes'),
                      t('system.writes.text', {
                        changes: count(system.writes_waiting.changes),
                        rows: count(system.writes_waiting.rows),
                        charges: count(system.writes_waiting.charges),
                      }),
                    ],
                    ...system.webhooks.map(
                      ({ name, waiting, given_up }) =>
                        [
                          t('system.webhook', { name }),
                          t('system.webhook.text', { waiting: count(waiting), given_up: count(given_up) }),
                        ] as const,
                    ),
                    [t('status.needs_review'), count(system.needs_review)],
                    [
                      t('system.held'),
                      system.review_held
                        .map(({ currency, amount }) => `${shownExact(amount)} ${currency}`)
                        .join(', ') || '–',
                    ],
                  ]}
                />
              </section>
              {isAdmin && <PurgeCache />}
            </div>
            <h2>{t('system.upstreams')}</h2>
            <Upstreams />
            <Places of={system} />
            <h2>{t('system.gateways')}</h2>
            <Gateways of={system} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

/** A usage with its maximum. */
function ofMost(format: (value: number) => string, value: number, most: number | null): string {
  return most === null ? format(value) : t('system.of', { value: format(value), most: format(most) })
}

function Store({ of: { kind, healthy } }: { readonly of: SystemState['counters'] }) {
  return (
    <span class="inline">
      {kind} <Status name={healthy ? 'healthy' : 'unhealthy'} />
    </span>
  )
}

/** The traffic of every gateway on the storage in the last minutes. */
function Traffic({ of: { traffic } }: { readonly of: SystemState }) {
  const calls = traffic.rows.filter(({ kind }) => kind === 'call')
  const minutes = (Date.parse(traffic.until) - Date.parse(traffic.since)) / 60_000
  return (
    <section class="section">
      <h2>{t('system.traffic')}</h2>
      <p class="quiet">{t('system.traffic.text')}</p>
      <Totals
        of={[
          [t('system.rate'), figure(traffic.requests / minutes)],
          [t('errors'), count(traffic.errors)],
          [t('system.refused'), count(traffic.refused)],
          ['p50', duration(traffic.p50_ms)],
          ['p95', duration(traffic.p95_ms)],
        ]}
      />
      {calls.length > 0 && (
        <div class="sheet">
          <Table
            label={t('system.traffic')}
            rows={calls}
            rowKey={({ model, operation }) => `${model} ${operation}`}
            columns={[
              {
                head: t('model'),
                heading: true,
                wide: true,
                cell: ({ model }) => <span class="theirs">{model ?? '–'}</span>,
              },
              { head: t('operation'), cell: row => tOperation(row.operation) },
              { head: t('system.rate'), numeric: true, cell: row => figure(row.requests / minutes) },
              { head: t('errors'), numeric: true, cell: row => count(row.errors) },
              { head: 'p50', numeric: true, cell: row => duration(row.p50_ms) },
              { head: 'p95', numeric: true, cell: row => duration(row.p95_ms) },
              { head: t('latency.first50'), numeric: true, cell: row => duration(row.first_byte_p50_ms) },
              { head: t('latency.first95'), numeric: true, cell: row => duration(row.first_byte_p95_ms) },
            ]}
          />
        </div>
      )}
    </section>
  )
}

/** A rate, with one decimal if it is small. */
function figure(perMinute: number): string {
  return perMinute < 10 ? String(Math.round(perMinute * 10) / 10) : count(Math.round(perMinute))
}

/** The billing processes on the storage, and whether they run the same version. */
function Gateways({ of: { gateways, revision } }: { readonly of: SystemState }) {
  return (
    <div class="sheet">
      <Table
        label={t('system.gateways')}
        rows={gateways}
        rowKey={({ host, started }) => `${host} ${started}`}
        columns={[
          {
            head: t('system.host'),
            wide: true,
            cell: ({ host, own }) => (
              <span class="inline">
                <code>{host}</code> {own && <span class="tag">{t('system.own')}</span>}
              </span>
            ),
          },
          { head: t('system.version'), cell: row => row.version ?? '–' },
          {
            head: t('system.revision'),
            cell: row => (
              <span class="inline">
                <code>{row.revision ?? '–'}</code>
                {row.revision !== null && row.revision !== revision && <Status name="other_revision" tone="warn" />}
              </span>
            ),
          },
          { head: t('system.started'), cell: row => <Time at={row.started} /> },
        ]}
      />
    </div>
  )
}
