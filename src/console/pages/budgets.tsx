import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useMay } from '../api/session.ts'
import type { Budget, BudgetList } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Meter } from '../kit/meter.tsx'
import { Money } from '../kit/money.tsx'
import { Page } from '../kit/page.tsx'
import { Status } from '../kit/status.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { microsOf } from '../money.ts'
import { shareOf } from '../numbers.ts'
import { t } from '../words/index.ts'
import { periodText } from '../words/period.ts'

/** The state of every budget and the month's forecast; those nearest to their end first. */
export function Budgets() {
  const load = useLoad<BudgetList>('/budgets')
  const readsAll = useMay('readers')
  return (
    <Page title={t('nav.budgets')}>
      <Loaded of={load} shape="costs">
        {({ budgets, month, currency }) => (
          <div class="stack">
            <Month of={month} />
            {budgets.length === 0 ? (
              <Empty title={t('budgets.none')}>
                <p class="quiet">{t(readsAll ? 'budgets.none.text' : 'budgets.none.own')}</p>
              </Empty>
            ) : (
              <div class="sheet">
                <Table
                  label={t('nav.budgets')}
                  rows={budgets.map(one => ({ ...one, ...standingOf(one) })).sort((a, b) => b.rank - a.rank)}
                  rowKey={({ level, name }) => `${level} ${name}`}
                  columns={[
                    {
                      head: t('budgets.of'),
                      heading: true,
                      wide: true,
                      cell: one => <Whose of={one} zone={month.zone} />,
                    },
                    {
                      head: t('budgets.period'),
                      cell: ({ soft, ...of }) => periodText(of) + (soft ? ` · ${t('budgets.soft')}` : ''),
                    },
                    {
                      head: t('budgets.spent'),
                      wide: true,
                      cell: one => (
                        <div class="metered">
                          <Meter
                            whole={microsOf(one.amount)}
                            used={microsOf(one.spent)}
                            held={microsOf(one.held)}
                            forecast={one.forecast === null ? null : microsOf(one.forecast)}
                            tone={one.tone}
                          />
                          <span>
                            {one.spent} / <Money amount={one.amount} currency={currency} />{' '}
                            <span class="quiet">{shareOf(microsOf(one.spent), microsOf(one.amount))}</span>
                          </span>
                        </div>
                      ),
                    },
                    { head: t('tokens.held'), numeric: true, cell: ({ held }) => held },
                    { head: t('budgets.left'), numeric: true, cell: ({ left }) => left },
                    { head: t('budgets.forecast'), numeric: true, cell: ({ forecast }) => forecast ?? '–' },
                    { head: t('budgets.renews'), cell: ({ renews }) => <Time at={renews} /> },
                    { head: t('status'), cell: ({ state, tone }) => <Status name={state} tone={tone} /> },
                  ]}
                />
              </div>
            )}
          </div>
        )}
      </Loaded>
    </Page>
  )
}

/** The percentage from which a budget is nearly spent. */
const nearPercent = 80n

/**
 * The state of a budget: spent, nearly spent, forecast to exceed, or none of these; the nearest to its end ranks first.
 */
function standingOf({ amount, spent, held, left, forecast, soft }: Budget) {
  const [whole, taken] = [microsOf(amount), microsOf(spent) + microsOf(held)]
  const share = whole === 0n ? 1000 : Number((taken * 1000n) / whole)
  if (soft && microsOf(left) === 0n) return { state: 'budget_soft', tone: 'warn', rank: 2_500_000 + share } as const
  if (microsOf(left) === 0n) return { state: 'budget_spent', tone: 'bad', rank: 3_000_000 + share } as const
  if (taken * 100n >= whole * nearPercent)
    return { state: 'budget_near', tone: 'warn', rank: 2_000_000 + share } as const
  const isAhead = forecast !== null && microsOf(forecast) > whole
  if (isAhead) return { state: 'budget_ahead', tone: 'warn', rank: 1_000_000 + share } as const
  return { state: 'budget_fine', tone: 'idle', rank: share } as const
}

/** Ranges of the page of costs that show the same days as a period. */
const ranges: { readonly [per: string]: string } = { day: 'today', month: 'month', '7d': '7d', '30d': '30d' }

/** The owner of a budget, with a link to its costs. */
function Whose({
  of: { level, name, called, per, resets_on: day },
  zone,
}: {
  readonly of: Budget
  readonly zone: string
}) {
  const part = level === 'balance' ? 'user' : level
  const range = per === 'month' && day !== 1 ? null : (ranges[per] ?? null)
  return (
    <span>
      <span class="quiet">{t(`budgets.level.${level}`)}</span>{' '}
      <a class="theirs" href={`/console${queryText({ [part]: name, range, zone: range && zone })}`}>
        {called ?? name}
      </a>
    </span>
  )
}

function Month({ of: { spent, since, zone } }: { readonly of: BudgetList['month'] }) {
  return (
    <div class="figures">
      {spent.length === 0 && (
        <div class="figure">
          <span>{t('budgets.month')}</span>
          <span>0</span>
        </div>
      )}
      {spent.map(({ currency, amount, forecast }) => (
        <a key={currency} class="figure" href={`/console${queryText({ range: 'month', zone })}`}>
          <span>{t('budgets.month')}</span>
          <span>
            <Money amount={amount} currency={currency} />
          </span>
          <span class="quiet">
            {t('budgets.since')} <Time at={since} /> ({zone})
          </span>
          {forecast !== null && <span class="quiet">{t('budgets.pace', { amount: `${forecast} ${currency}` })}</span>}
        </a>
      ))}
    </div>
  )
}
