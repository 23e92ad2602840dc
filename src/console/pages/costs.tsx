import { useEffect } from 'preact/hooks'
import type { CostSplit } from '../../domain/costs.ts'
import { useLoad } from '../api/load.ts'
import { useMay, useSession } from '../api/session.ts'
import type { Avoidable, CostsAnswer, Overview } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { FilterBar, PickFilter, TextFilter } from '../kit/filter-bar.tsx'
import { Icon } from '../kit/icon.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Views } from '../kit/views.tsx'
import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { zoneOf } from '../zone.ts'
import { AvoidableSpend } from './costs/avoidable.tsx'
import { FirstRequest } from './costs/first-request.tsx'
import { readCostsQuery } from './costs/costs-query.ts'
import { foldSessions } from './costs/fold-sessions.ts'
import { namesOf, partName } from './costs/parts.ts'
import { spanOf } from './costs/range.ts'
import { RangeFilter } from './costs/range-filter.tsx'
import { Requests } from './costs/requests.tsx'
import { CostTable } from './costs/cost-table.tsx'
import { costsByCurrency } from './costs/currency-costs.ts'
import { hasLabel, hasSeveral, noParts, partsFor, type Where } from './costs/where.ts'

/** The costs, their parts and their reasons: every figure links to its parts. */
export function Costs() {
  const { query, path, set } = useQuery()
  const { user, gateway } = useSession()
  const readsAll = useMay('readers')
  const zone = zoneOf(query['zone'])
  const costsQuery = readCostsQuery(query, zone, readsAll)
  const { range, where, by } = costsQuery
  const load = useLoad<CostsAnswer>(`/costs${costsQuery.costs}`)
  const avoidable = useLoad<Avoidable>(`/costs/avoidable${costsQuery.avoidable}`)
  // Whether there was ever a request matters only if there are no costs.
  const isIdle = load.value !== undefined && load.value.totals.length === 0
  const overview = useLoad<Overview>(isIdle ? '/overview' : null)
  // Waits for the content above, so that nothing moves when it is shown.
  const isWhole = [avoidable, ...(isIdle ? [overview] : [])].every(
    ({ value, loading }) => value !== undefined || !loading,
  )
  const hrefOf = (change: { readonly [name: string]: string | null }) => path + setQuery(query, change)
  // Fetches the script of the chart ahead; if that fails, the chart reports it.
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
      hasList={load.last !== undefined && !isIdle}
      actions={
        <>
          <a class="button" href="/console/logs?range=today&result=unsuccessful">
            {t('logs.failures')}
          </a>
          <a class="button" href={`/api/costs${costsQuery.costs}&format=csv`} download="tollgate-costs.csv">
            <Icon name="down" />
            CSV
          </a>
        </>
      }
    >
      <div class="stack tight">
        <FilterBar onClear={Object.keys(where).length > 0 && (() => set(noParts))}>
          <RangeFilter range={range} usual="30d" set={set} hrefOf={hrefOf} />
          <PartFilters where={where} readsAll={readsAll} names={load.last?.names ?? {}} set={set} />
        </FilterBar>
        <div class="line-of">
          <p class="quiet">{t('costs.zone', { zone })}</p>
          <Views owner={user.name} at="/console" query={{ ...spanOf(query), ...where }} />
        </div>
      </div>
      <Loaded of={isWhole ? load : { ...load, value: undefined }} shape="costs">
        {loaded => {
          const answer = foldSessions(loaded, t('costs.sessions'))
          return answer.totals.length === 0 ? (
            <Empty title={t(Object.keys(where).length > 0 ? 'costs.none.narrowed' : 'costs.none')} />
          ) : (
            <div class="stack">
              {!hasLabel(where) && !hasSeveral(where) && <AvoidableSpend of={avoidable.value} where={where} />}
              {costsByCurrency(answer).map((sheet, at) => (
                <CostTable
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

/** Parts that are selected by name. Their filters are shown even without a value. */
const picked = ['user', 'model', 'key', 'group'] as const

/** The filters of costs. After a change, costs are split by the first part without a filter. */
function PartFilters({
  where,
  readsAll,
  names,
  set,
}: {
  readonly where: Where
  readonly readsAll: boolean
  readonly names: { readonly [id: string]: string }
  readonly set: (change: { readonly [name: string]: string | null }) => void
}) {
  const of = (part: CostSplit) => {
    const value = where[part]
    return {
      label: partName(part),
      value,
      text: value && namesOf(part, value, names),
      onPick: (wanted: string) => set({ [part]: wanted, by: null, pick: null }),
    }
  }
  const parts = partsFor(readsAll)
  return (
    <>
      {picked
        .filter(part => parts.includes(part))
        .map(part => (
          <PickFilter key={part} of={part} isFree={part !== 'key'} {...of(part)} />
        ))}
      {parts
        .filter(part => where[part] !== undefined && !picked.some(one => one === part))
        .map(part => (
          <TextFilter key={part} {...of(part)} />
        ))}
    </>
  )
}
