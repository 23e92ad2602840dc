import { useState } from 'preact/hooks'
import { openAlerts } from '../api/alerts.ts'
import { ApiError, call, queryText } from '../api/call.ts'
import { usePoll } from '../api/poll.ts'
import { useMay } from '../api/session.ts'
import type { AlertList } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Empty } from '../kit/empty.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { problemText } from '../kit/problem.tsx'
import { Stale } from '../kit/stale.tsx'
import { Time } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import { t, tName, type Word } from '../words/index.ts'
import { tPlaced } from '../words/load-findings.ts'

type Alert = AlertList['alerts'][number]

const everyMs = 30_000

/** What needs somebody, what to do about it and where; what somebody has dealt with stands below. */
export function Alerts() {
  const load = usePoll<AlertList>('/alerts', everyMs)
  const changes = useMay('admin')
  const [busy, setBusy] = useState('')
  const deal = async (id: string, dealt: boolean) => {
    setBusy(id)
    try {
      const told = await call<AlertList>('/alerts/dealt', { method: 'POST', body: { id, dealt } })
      openAlerts.value = told.open
      load.put(told)
    } catch (error) {
      say(error instanceof ApiError ? problemText(error) : String(error), 'bad')
      load.reload()
    }
    setBusy('')
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
                  <Told of={one} />
                  {changes && (
                    <Button busy={busy === one.id} onClick={() => void deal(one.id, one.dealt === null)}>
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

function Told({ of: { kind, time, data, dealt } }: { readonly of: Alert }) {
  const values = textsOf(data)
  const href = hrefOf(kind, values)
  return (
    <>
      <h2>{tName('alert', kind)}</h2>
      <p class="theirs">{t(`alert.${kind}.text` as Word, values)}</p>
      <p>
        {t(`alert.${kind}.do` as Word)} {href && <a href={href}>{t('alerts.go')}</a>}
      </p>
      <p class="quiet">
        {time !== null && <Time at={time} />}
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

/** What an alert tells, as it is put into its sentence. */
function textsOf(data: Alert['data']): { readonly [name: string]: string } {
  const blank = {
    level: '',
    name: '',
    percent: '',
    spent: '',
    amount: '',
    currency: '',
    upstream: '',
    key: '',
    code: '',
  }
  const more = { webhook: '', waiting: '', given_up: '', count: '', first: '', ends: '', last: '' }
  const told = Object.entries(data).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(one => tPlaced(wordOf(one))).join('; ') : wordOf(value),
  ])
  const texts: Record<string, string> = { ...blank, ...more, findings: '', ...Object.fromEntries(told) }
  if (texts['level'] !== undefined && texts['level'] !== '') texts['level'] = tName('budgets.level', texts['level'])
  return texts
}

function wordOf(value: unknown): string {
  if (value === null) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Where something can be done about it. */
function hrefOf(kind: string, { level, name = '' }: { readonly [name: string]: string }): string | undefined {
  if (kind.startsWith('budget.')) {
    if (level === tName('budgets.level', 'key')) return `/console/tokens/${encodeURIComponent(name)}`
    if (level === tName('budgets.level', 'group')) return '/console/budgets'
    return `/console/users${queryText({ edit: name })}`
  }
  if (kind.startsWith('upstream.') || kind === 'webhook.failing' || kind === 'certificate.ends')
    return '/console/system'
  if (kind === 'config.refused') return '/console/config'
  if (kind === 'charges.review') return '/console/logs?charge=needs_review'
  return undefined
}
