import type { ComponentChildren } from 'preact'
import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useSession } from '../api/session.ts'
import type { Overview as Figures } from '../api/shapes.ts'
import { Chart } from '../kit/chart.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Money } from '../kit/money.tsx'
import { Page } from '../kit/page.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { count, duration } from '../numbers.ts'
import { useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { FirstRequest } from './overview/first-request.tsx'

const ranges = ['today', '7d', '30d'] as const
const hourMs = 3_600_000
/** How long the steps of each range's chart are. */
const stepHours = { today: 1, '7d': 6, '30d': 24 }

/** What was spent and done of late; every figure leads to the requests behind it. */
export function Overview() {
  const { query, set } = useQuery()
  const range = ranges.find(one => one === query['range']) ?? 'today'
  const load = useLoad<Figures>(`/overview?range=${range}`)
  const { gateway } = useSession()
  return (
    <Page title={t('nav.overview')}>
      <Loaded of={load}>
        {figures =>
          figures.ever ? (
            <Tabs
              label={t('overview.range')}
              tabs={ranges.map(one => [one, t(`overview.${one}`)] as const)}
              value={range}
              onPick={value => set({ range: value })}
            >
              <Board figures={figures} />
            </Tabs>
          ) : (
            <FirstRequest baseUrl={gateway.base_url} onArrived={load.reload} />
          )
        }
      </Loaded>
    </Page>
  )
}

function Board({ figures }: { readonly figures: Figures }) {
  const { since, until } = figures
  const logs = (filter: { readonly [name: string]: string } = {}) =>
    `/console/logs${queryText({ since, until, ...filter })}`
  return (
    <div class="stack">
      <div class="figures">
        {figures.spent.length === 0 && <Figure name={t('overview.spent')} href={logs()} value="0" />}
        {figures.spent.map(({ amount, currency }) => (
          <Figure
            key={currency}
            name={t('overview.spent')}
            href={logs()}
            value={<Money amount={amount} currency={currency} />}
          />
        ))}
        <Figure name={t('requests')} href={logs()} value={count(figures.requests)} />
        <Figure name={t('errors')} href={logs({ status: '4xx' })} value={count(figures.errors)} />
        <Figure name="p50" href={logs()} value={duration(figures.p50_ms)} />
        <Figure name="p95" href={logs()} value={duration(figures.p95_ms)} />
        {figures.images.map(({ tier, count: images }) => (
          <Figure key={tier} name={t('overview.images', { tier })} href={logs({ tier })} value={count(images)} />
        ))}
        <Figure name={t('tokens.in')} href={logs()} value={count(figures.input_tokens)} />
        <Figure name={t('tokens.out')} href={logs()} value={count(figures.output_tokens)} />
      </div>
      <div class="card">
        <Chart
          steps={figures.steps}
          since={since}
          until={until}
          stepMs={stepHours[figures.range] * hourMs}
          label={t('chart.requests')}
        />
      </div>
    </div>
  )
}

function Figure({
  name,
  href,
  value,
}: {
  readonly name: string
  readonly href: string
  readonly value: ComponentChildren
}) {
  return (
    <a class="figure" href={href}>
      <span>{name}</span>
      <span>{value}</span>
    </a>
  )
}
