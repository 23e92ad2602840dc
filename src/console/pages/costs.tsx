import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useMay, useSession } from '../api/session.ts'
import type { CostsAnswer, LogList } from '../api/shapes.ts'
import { Choices } from '../kit/choices.tsx'
import { Empty } from '../kit/empty.tsx'
import { FilterLine } from '../kit/filter-line.tsx'
import { Icon } from '../kit/icon.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { dateIn, viewerZone } from '../zone.ts'
import { AvoidableSpend } from './costs/avoidable.tsx'
import { FirstRequest } from './costs/first-request.tsx'
import { nameOf, partName, partsFor, readBy, readWhere, type Where } from './costs/parts.ts'
import { presets, readRange } from './costs/range.ts'
import { Requests } from './costs/requests.tsx'
import { CostSheet } from './costs/sheet.tsx'
import { sheetsOf } from './costs/sheets.ts'

/** What was spent, on what, and why: every figure leads to what it is made of. */
export function Costs() {
  const { query, path, set } = useQuery()
  const { gateway } = useSession()
  const readsAll = useMay('readers')
  const zone = viewerZone()
  const range = readRange(query, dateIn(zone, new Date()))
  const where = readWhere(query)
  const by = readBy(query['by'], where, readsAll)
  const { from, to, step } = range
  const asked = { from, to, zone, step, by, ...where }
  const load = useLoad<CostsAnswer>(`/costs${queryText(asked)}`)
  // Only where nothing was spent is there a question of whether anything was ever asked.
  const isIdle = load.value !== undefined && load.value.totals.length === 0
  const newest = useLoad<LogList>(isIdle ? '/logs?limit=1' : null)
  const hrefOf = (change: { readonly [name: string]: string | null }) => path + setQuery(query, change)
  if (newest.value?.records.length === 0)
    return (
      <Page title={t('nav.costs')}>
        <FirstRequest baseUrl={gateway.base_url} onArrived={newest.reload} />
      </Page>
    )
  return (
    <Page
      title={t('nav.costs')}
      actions={
        <a class="button" href={`/api/costs${queryText({ ...asked, format: 'csv' })}`} download="tollgate-costs.csv">
          <Icon name="down" />
          CSV
        </a>
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
              label={t('filter.since')}
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
      </div>
      <Loaded of={load}>
        {answer =>
          answer.totals.length === 0 ? (
            <Empty title={t(Object.keys(where).length > 0 ? 'costs.none.narrowed' : 'costs.none')} />
          ) : (
            <div class="stack">
              <AvoidableSpend from={from} to={to} zone={zone} where={where} />
              {sheetsOf(answer).map(sheet => (
                <CostSheet
                  key={sheet.currency}
                  of={sheet}
                  answer={answer}
                  range={range}
                  by={by}
                  parts={partsFor(readsAll)}
                  hrefOf={hrefOf}
                />
              ))}
              <Requests answer={answer} where={where} readsAll={readsAll} />
            </div>
          )
        }
      </Loaded>
    </Page>
  )
}

/** What costs are narrowed to, each with the way out of it. */
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
            <span class="quiet">{partName(part)}</span> <span class="theirs">{nameOf(part, what, names)}</span>
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
