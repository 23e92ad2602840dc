import { useState } from 'preact/hooks'
import { useLoad } from '../api/load.ts'
import type { SystemState } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Facts } from '../kit/facts.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Status } from '../kit/status.tsx'
import { Time } from '../kit/time.tsx'
import { bytes, count, duration } from '../numbers.ts'
import { t } from '../words/index.ts'
import { Upstreams } from './system/upstreams.tsx'

/** How the gateway itself is. */
export function System() {
  const load = useLoad<SystemState>('/system')
  const [turn, setTurn] = useState(0)
  const refresh = () => {
    load.reload()
    setTurn(turn + 1)
  }
  return (
    <Page title={t('nav.system')} actions={<Button onClick={refresh}>{t('refresh')}</Button>}>
      <Loaded of={load}>
        {system => (
          <div class="stack">
            {system.needs_review > 0 && (
              <p class="note warn">
                {t('system.review', { count: system.needs_review })}{' '}
                <a href="/console/logs?charge=needs_review">{t('nav.logs')}</a>
              </p>
            )}
            <div class="cards">
              <section class="card">
                <h2>{t('system.process')}</h2>
                <Facts
                  of={[
                    [t('system.version'), system.version],
                    ['Node', system.node],
                    [t('system.started'), <Time at={system.started} />],
                    [t('system.open'), count(system.open_requests)],
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
                    [t('status.needs_review'), count(system.needs_review)],
                    [
                      t('system.held'),
                      system.review_held.map(({ currency, amount }) => `${amount} ${currency}`).join(', ') || '–',
                    ],
                  ]}
                />
              </section>
            </div>
            <h2>{t('system.upstreams')}</h2>
            <Upstreams key={turn} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function Store({ of: { kind, healthy } }: { readonly of: SystemState['storage'] }) {
  return (
    <span class="inline">
      {kind} <Status name={healthy ? 'healthy' : 'unhealthy'} />
    </span>
  )
}
