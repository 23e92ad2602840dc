import { useEffect } from 'preact/hooks'
import { openAlerts } from '../api/alerts.ts'
import { call } from '../api/call.ts'
import { usePoll } from '../api/poll.ts'
import { useMay } from '../api/session.ts'
import type { AlertList } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Empty } from '../kit/empty.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { faultText } from '../kit/problem.tsx'
import { Stale } from '../kit/stale.tsx'
import { Time } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import { t, tName, type Word } from '../words/index.ts'
import { tPlaced } from '../words/load-findings.ts'
import { type Alert, textsOf, whereOf, wordOf } from './alerts/alert-values.ts'

const everyMs = 30_000

/** Problems that need attention, each with its remedy and a link; finished alerts are listed below. */
export function Alerts() {
  const load = usePoll<AlertList>('/alerts', everyMs)
  const changes = useMay('admin')
  const open = load.value?.open
  useEffect(() => {
    // Keeps the number next to the page's name equal to the list.
    if (open !== undefined) openAlerts.value = open
  }, [open])
  const deal = async (id: string, dealt: boolean) => {
    try {
      const alerts = await call<AlertList>('/alerts/dealt', { method: 'POST', body: { id, dealt } })
      load.put(alerts)
    } catch (error) {
      say(faultText(error), 'bad')
      load.reload()
    }
  }
  return (
    <Page title={t('nav.alerts')}>
      <Stale of={load} />
      <Loaded of={load}>
        {({ alerts }) => {
          const open = alerts.filter(({ dealt }) => dealt === null)
          const dealt = alerts.filter(one => one.dealt !== null)
          const list = (some: readonly Alert[]) => (
            <ul class="bare stack">
              {some.map(one => (
                <li key={one.id} class="card">
                  <AlertText of={one} />
                  {changes && (
                    <Button onClick={() => deal(one.id, one.dealt === null)}>
                      {t(one.dealt === null ? 'alerts.deal' : 'alerts.reopen')}
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          )
          return (
            <div class="stack">
              {open.length === 0 ? <Empty title={t('alerts.none')} /> : list(open)}
              {dealt.length > 0 && (
                <section class="section">
                  <h2>{t('alerts.dealt')}</h2>
                  <p class="quiet">{t('alerts.dealt.text')}</p>
                  {list(dealt)}
                </section>
              )}
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

function AlertText({ of: { kind, time, data, dealt } }: { readonly of: Alert }) {
  const values = textsOf(data, tPlaced)
  const href = whereOf(kind, data)
  const word = wordOf(kind, data)
  return (
    <>
      <h2>{tName('alert', word)}</h2>
      <p class="theirs">{t(`alert.${word}.text` as Word, values)}</p>
      <p>
        {t(`alert.${word}.do` as Word)} {href && <a href={href}>{t('alerts.go')}</a>}
      </p>
      <p class="quiet">
        {time !== null && <Time at={time} />}
        {data['percent_now'] !== undefined && data['percent'] !== undefined && (
          <> · {t('alert.budget.threshold.at', values)}</>
        )}
        {dealt && (
          <>
            {' '}
            {t('alerts.by', { by: dealt.by })} <Time at={dealt.at} />
          </>
        )}
      </p>
    </>
  )
}
