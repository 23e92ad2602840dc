import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useMay, useSession } from '../api/session.ts'
import type { Budget, BudgetList } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Empty } from '../kit/empty.tsx'
import { FilterBar, PickFilter } from '../kit/filter-bar.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Meter } from '../kit/meter.tsx'
import { Forecast, Money, moneyColumn } from '../kit/money.tsx'
import { Page } from '../kit/page.tsx'
import { Status } from '../kit/status.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { Tag } from '../kit/tag.tsx'
import { Time } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import { microsOf } from '../money.ts'
import { count as digits, shareOf } from '../numbers.ts'
import { useQuery } from '../query.ts'
import { shownForecast } from '../shown-money.ts'
import { t } from '../words/index.ts'
import { isWindow, periodText } from '../words/period.ts'
import { BudgetDialog, NewBudget } from './budgets/budget-dialog.tsx'
import { costRangeOf } from './budgets/cost-range.ts'
import { byTightness, statusOf } from './budgets/status.ts'

/** The most budgets on the page, those nearest to exhaustion. */
const rowsMax = 200

/** The state of every budget and the month's forecast; budgets nearest to exhaustion first. */
export function Budgets() {
  const { query, set } = useQuery()
  const readsAll = useMay('readers')
  const changes = useMay('admin')
  const { user } = useSession()
  const person = readsAll ? query['user'] : user.name
  const load = useLoad<BudgetList>(`/budgets${queryText({ user: readsAll ? person : null, limit: rowsMax })}`)
  const close = () => set({ edit: null, new: null })
  const done = () => {
    load.reload()
    close()
    say(t('saved'))
  }
  const chosen = load.value?.budgets.find(one => placeOf(one) === query['edit'])
  return (
    <Page
      title={t('nav.budgets')}
      actions={
        changes && (
          <Button kind="primary" icon="plus" onClick={() => set({ new: '1' })}>
            {t('budgets.set')}
          </Button>
        )
      }
    >
      <Loaded of={load} shape="costs">
        {({ budgets, count, end_users: endUsers, month, currency }) => (
          <div class="stack">
            <Month of={month} currency={currency} />
            {readsAll && (
              <FilterBar>
                <PickFilter of="user" label={t('user')} value={person} isFree onPick={user => set({ user })} />
              </FilterBar>
            )}
            {person !== undefined && <p class="quiet">{t('budgets.apply', { user: person })}</p>}
            {count > budgets.length && (
              <p class="quiet">{t('budgets.nearest', { count: digits(count), shown: budgets.length })}</p>
            )}
            {count === budgets.length && <EndUsersShown budgets={budgets} count={endUsers} />}
            {budgets.length === 0 ? (
              <Empty title={t('budgets.none')}>
                {(changes || !readsAll) && <p class="quiet">{t(changes ? 'budgets.none.text' : 'budgets.none.own')}</p>}
              </Empty>
            ) : (
              <div class="sheet">
                <Table
                  label={t('nav.budgets')}
                  rows={inOrder(budgets, person !== undefined)}
                  rowKey={placeOf}
                  columns={columns({
                    budgets,
                    zone: month.zone,
                    currency,
                    mayEdit: one => changes || (one.level === 'key' && one.user === user.name),
                    onEdit: one => set({ edit: placeOf(one) }),
                  })}
                />
              </div>
            )}
          </div>
        )}
      </Loaded>
      {chosen && <BudgetDialog of={chosen} onDone={done} onClose={close} />}
      {changes && query['new'] && <NewBudget onDone={done} onClose={close} />}
    </Page>
  )
}

/** Shows that the list does not contain all end users. */
function EndUsersShown({ budgets, count }: { readonly budgets: readonly Budget[]; readonly count: number }) {
  const shown = budgets.filter(({ level }) => level === 'end_user').length
  if (shown === count) return null
  return <p class="quiet">{t('budgets.end_users', { count: digits(count), shown })}</p>
}

type Row = Budget & ReturnType<typeof statusOf> & { readonly isTightest: boolean }

function inOrder(budgets: readonly Budget[], isOfOne: boolean): readonly Row[] {
  const rows = budgets.map(one => ({ ...one, ...statusOf(one), isTightest: false }))
  if (!isOfOne) return rows.sort((a, b) => b.rank - a.rank)
  return rows.sort(byTightness).map((one, at) => {
    const stopsAll = !one.soft && one.level !== 'end_user'
    return { ...one, isTightest: at === 0 && rows.length > 1 && stopsAll }
  })
}

function placeOf({ level, name, user }: Pick<Budget, 'level' | 'name' | 'user'>): string {
  return level === 'end_user' ? `${level}:${user}:${name}` : `${level}:${name}`
}

function columns({
  budgets,
  zone,
  currency,
  mayEdit,
  onEdit,
}: {
  readonly budgets: readonly Budget[]
  readonly zone: string
  readonly currency: string
  readonly mayEdit: (one: Budget) => boolean
  readonly onEdit: (one: Budget) => void
}): readonly Column<Row>[] {
  return [
    {
      head: t('budgets.of'),
      heading: true,
      wide: true,
      sortBy: ({ called, name }) => called ?? name,
      cell: one => (
        <>
          <Whose of={one} zone={zone} /> {one.isTightest && <Tag>{t('budgets.tightest')}</Tag>}
        </>
      ),
    },
    {
      head: t('budgets.period'),
      wide: true,
      cell: ({ soft, ...of }) => periodText(of) + (soft ? ` · ${t('budgets.soft')}` : ''),
    },
    {
      head: t('budgets.spent'),
      wide: true,
      sortBy: ({ spent }) => microsOf(spent),
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
            <Money amount={one.spent} /> / <Money amount={one.amount} currency={currency} />{' '}
            <span class="quiet">{shareOf(microsOf(one.spent), microsOf(one.amount))}</span>
          </span>
        </div>
      ),
    },
    // Without running requests there are no holds, so that the other columns get this column's space.
    ...(budgets.some(({ held }) => microsOf(held) > 0n)
      ? [moneyColumn<Row>({ head: t('tokens.held'), rows: budgets as readonly Row[], amount: ({ held }) => held })]
      : []),
    moneyColumn<Row>({ head: t('budgets.left'), rows: budgets as readonly Row[], amount: ({ left }) => left }),
    {
      head: t('budgets.forecast'),
      numeric: true,
      sortBy: ({ forecast }) => (forecast === null ? null : microsOf(forecast)),
      cell: ({ forecast }) => (forecast === null ? '–' : <Forecast amount={forecast} />),
    },
    {
      head: t('budgets.renews'),
      sortBy: ({ renews }) => renews,
      cell: ({ per, renews }) => (
        <>
          <Time at={renews} />
          {isWindow(per) && <div class="quiet">{t('budgets.renews.window')}</div>}
        </>
      ),
    },
    {
      head: t('status'),
      // Budgets nearest to exhaustion first.
      sortBy: ({ rank }) => -rank,
      cell: ({ state, tone, refused_since: since }) => (
        <>
          <Status name={state} tone={tone} />
          {state === 'budget_refusing' && (
            <div class="quiet">
              {t('budgets.since')} <Time at={since} />
            </div>
          )}
        </>
      ),
    },
    {
      head: t('system.key.actions'),
      sparse: true,
      // Budgets of end users apply to all members of a group.
      cell: one => mayEdit(one) && one.level !== 'end_user' && <Change of={one} onEdit={() => onEdit(one)} />,
    },
  ]
}

/** The place to change a budget: here, or for a group in the configuration. */
function Change({ of, onEdit }: { readonly of: Budget; readonly onEdit: () => void }) {
  const word = t(of.level === 'balance' ? 'budgets.topup' : 'edit')
  const label = `${word}${t('colon')}${of.called ?? of.name}`
  if (of.level === 'group')
    return (
      <a class="button quiet" href={`/console/config${queryText({ tab: 'edit', group: of.name })}`} aria-label={label}>
        {t('edit')}
      </a>
    )
  return (
    <Button kind="quiet" aria-label={label} onClick={onEdit}>
      {word}
    </Button>
  )
}

/** The owner of a budget, with a link to its costs. */
function Whose({ of, zone }: { readonly of: Budget; readonly zone: string }) {
  const { level, name, called, user } = of
  const part = level === 'balance' ? 'user' : level
  return (
    <span>
      <span class="quiet">{t(`budgets.level.${level}`)}</span>{' '}
      <a class="theirs" href={`/console${queryText({ [part]: name, ...costRangeOf(of, zone, new Date()) })}`}>
        {called ?? name}
      </a>
      {level === 'end_user' && <span class="quiet"> · {t('budgets.end_user.of', { user: user ?? '' })}</span>}
    </span>
  )
}

function Month({
  of: { spent, since, zone },
  currency,
}: {
  readonly of: BudgetList['month']
  readonly currency: string
}) {
  return (
    <div class="figures">
      {spent.length === 0 && (
        <div class="figure">
          <span>{t('budgets.month')}</span>
          <span>
            <Money amount="0.00" currency={currency} />
          </span>
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
          {forecast !== null && (
            <span class="quiet" title={`${forecast} ${currency}`}>
              {t('budgets.pace', { amount: `${shownForecast(forecast)} ${currency}` })}
            </span>
          )}
        </a>
      ))}
    </div>
  )
}
