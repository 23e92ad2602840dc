import { useEffect } from 'preact/hooks'
import { useLoad } from '../api/load.ts'
import { useMay, useSession } from '../api/session.ts'
import type { Avoidable, CostsAnswer, Overview } from '../api/shapes.ts'
import { Choices } from '../kit/choices.tsx'
import { Empty } from '../kit/empty.tsx'
import { FilterLine } from '../kit/filter-line.tsx'
import { Icon } from '../kit/icon.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Views } from '../kit/views.tsx'
import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { zoneOf } from '../zone.ts'
import { AvoidableSpend } from './costs/avoidable.tsx'
import { FirstRequest } from './costs/first-request.tsx'
import { readAsked } from './costs/asked.ts'
import { foldSessions } from './costs/fold-sessions.ts'
import { namesOf, partName } from './costs/parts.ts'
import { presets, spanOf } from './costs/range.ts'
import { Requests } from './costs/requests.tsx'
import { CostSheet } from './costs/sheet.tsx'
import { sheetsOf } from './costs/sheets.ts'
import { hasLabel, hasSeveral, partsFor, type Where } from './costs/where.ts'

/** What was spent, on what, and why: every figure links to its parts. */
export function Costs() {
  const { query, path, set } = useQuery()
  const { user, gateway } = useSession()
  const readsAll = useMay('readers')
  const zone = zoneOf(query['zone'])
  const asked = readAsked(query, zone, readsAll)
  const { range, where, by } = asked
  const { from, to } = range
  const load = useLoad<CostsAnswer>(`/costs${asked.costs}`)
  const avoidable = useLoad<Avoidable>(`/costs/avoidable${asked.avoidable}`)
  // Only if nothing was spent does it matter whether a request was ever made.
  const isIdle = load.value !== undefined && load.value.totals.length === 0
  const overview = useLoad<Overview>(isIdle ? '/overview' : null)
  // What is at the top is waited for, so that nothing moves when it arrives.
  const isWhole = [avoidable, ...(isIdle ? [overview] : [])].every(
    ({ value, loading }) => value !== undefined || !loading,
  )
  const hrefOf = (change: { readonly [name: string]: string | null }) => path + setQuery(query, change)
  // Drawn as soon as there is data: if it fails, the chart reports it.
  useEffect(() => void import('../kit/bars.tsx').catch(() => undefined), [])
  if (overview.value?.ever === false)
    return (
      <Page title={t('nav.costs')}>
        <FirstRequest baseUrl={gateway.base_url} onArrived={overview.reload} />
      </Page>
    )
  return (
    <Page
      title={t('nav.costs')}
      hasList={load.value !== undefined && !isIdle}
      actions={
        <>
          <a class="button" href="/console/logs?range=today&result=unsuccessful">
            {t('logs.failures')}
          </a>
          <a class="button" href={`/api/costs${asked.costs}&format=csv`} download="tollgate-costs.csv">
            <Icon name="down" />
            CSV
          </a>
        </>
      }
    >
      <div class="stack tight">
        <div class="inline">
          <Choices
            label={t('costs.range')}
            of={presets.map(one => [one, t(`costs.${one}`)] as const)}
            chosen={range.preset}
            hrefOf={value => hrefOf({ range: value === '30d' ? null : value, from: null, to: null })}
          />
          <div class="dates">
            <FilterLine
              label={t('costs.from')}
              type="date"
              value={from}
              onPick={value => value !== '' && set({ range: null, from: value, to: value > to ? value : to })}
            />
            <FilterLine
              label={t('costs.to')}
              type="date"
              value={to}
              onPick={value => value !== '' && set({ range: null, from: value < from ? value : from, to: value })}
            />
          </div>
        </div>
        <p class="quiet">{t('costs.zone', { zone })}</p>
        <Narrowed where={where} names={load.value?.names ?? {}} hrefOf={hrefOf} />
        <Views owner={user.name} at="/console" query={{ ...spanOf(query), ...where }} />
      </div>
      <Loaded of={isWhole ? load : { ...load, value: undefined }} shape="costs">
        {told => {
          const answer = foldSessions(told, t('costs.sessions'))
          return answer.totals.length === 0 ? (
            <Empty title={t(Object.keys(where).length > 0 ? 'costs.none.narrowed' : 'costs.none')} />
          ) : (
            <div class="stack">
              {!hasLabel(where) && !hasSeveral(where) && <AvoidableSpend of={avoidable.value} where={where} />}
              {sheetsOf(answer).map((sheet, at) => (
                <CostSheet
                  key={sheet.currency}
                  of={sheet}
                  isFirst={at === 0}
                  answer={answer}
                  range={range}
                  by={by}
                  where={where}
                  parts={partsFor(readsAll, where)}
                  picked={query['pick']?.split('|') ?? []}
                  hrefOf={hrefOf}
                />
              ))}
              {!hasSeveral(where) && <Requests answer={answer} where={where} readsAll={readsAll} />}
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

/** The filters of costs, each with a button to remove it. */
function Narrowed({
  where,
  names,
  hrefOf,
}: {
  readonly where: Where
  readonly names: { readonly [id: string]: string }
  readonly hrefOf: (change: { readonly [name: string]: null }) => string
}) {
  const used = partsFor(true).flatMap(part => (where[part] === undefined ? [] : [[part, where[part]] as const]))
  if (used.length === 0) return null
  return (
    <ul class="narrowed" aria-label={t('costs.narrowed')}>
      {used.map(([part, what]) => (
        <li key={part}>
          <span>
            <span class="quiet">{partName(part)}</span> <span class="theirs">{namesOf(part, what, names)}</span>
          </span>
          <a
            href={hrefOf({ [part]: null, by: null })}
            aria-label={t('costs.widen', { part: partName(part) })}
            title={t('costs.widen', { part: partName(part) })}
          >
            <Icon name="close" />
          </a>
        </li>
      ))}
    </ul>
  )
}
