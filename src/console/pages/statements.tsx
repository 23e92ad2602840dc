import { queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import type { Statement } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Empty } from '../kit/empty.tsx'
import { Icon } from '../kit/icon.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { moneyColumn } from '../kit/money.tsx'
import { Page } from '../kit/page.tsx'
import { Status } from '../kit/status.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { count } from '../numbers.ts'
import { setQuery, useQuery } from '../query.ts'
import { t, tName } from '../words/index.ts'
import { dateText } from '../words/moment.ts'
import { addDays, dateIn, monthOf, viewerZone } from '../zone.ts'
import { StatementFilters } from './statements/filters.tsx'
import { Labels } from './statements/labels.tsx'
import { negative, Reconciliation, Sums } from './statements/reconciliation.tsx'

type Account = Statement['accounts'][number]

/** A month by user and group, compared with the ledger: to print, or to download as a table. */
export function Statements() {
  const { query, path, set } = useQuery()
  const zone = viewerZone()
  const month = /^\d{4}-(0[1-9]|1[0-2])$/.test(query['month'] ?? '')
    ? (query['month'] as string)
    : monthOf(dateIn(zone, new Date()), -1).slice(0, 7)
  const thisMonth = dateIn(zone, new Date()).slice(0, 7)
  const labels = { end_user: query['end_user'], tag: query['tag'] }
  const isNarrowed = labels.end_user !== undefined || labels.tag !== undefined
  const params = { month, zone, user: query['user'], group: query['group'], ...labels }
  const by = !isNarrowed && (query['by'] === 'end_user' || query['by'] === 'tag') ? query['by'] : undefined
  const load = useLoad<Statement>(`/statements${queryText({ ...params, by })}`)
  return (
    <Page
      title={t('nav.statements')}
      actions={
        <>
          <Button onClick={() => print()}>{t('statements.print')}</Button>
          <a
            class="button"
            href={`/api/statements${queryText({ ...params, by, format: 'csv' })}`}
            download={`tollgate-statement-${month}.csv`}
          >
            <Icon name="down" />
            CSV
          </a>
          {load.last && load.last.balances.length > 0 && (
            <a
              class="button"
              href={`/api/statements${queryText({ ...params, format: 'csv', of: 'balances' })}`}
              download={`tollgate-balances-${month}.csv`}
            >
              <Icon name="down" />
              {t('statements.balances.csv')}
            </a>
          )}
        </>
      }
    >
      <StatementFilters month={month} query={query} by={by} isNarrowed={isNarrowed} onPick={set} />
      <Loaded of={load} shape="rows">
        {({ accounts, reconciled, balances, currency, totals, issued, organization, by: kind, labels: split }) => (
          <div class="stack">
            <header class="statement-head">
              {organization !== null && <p class="theirs organization">{organization}</p>}
              <p class="inline">
                <strong>
                  {dateText(`${month}-01`)} – {dateText(addDays(monthOf(`${month}-01`, 1), -1))}
                </strong>
                <span class="quiet">{t('costs.zone', { zone })}</span>
                <span class="quiet">
                  {t('statements.issued')} <Time at={issued} />
                </span>
                <Status name={reconciled ? 'reconciled' : 'differs'} tone={reconciled ? 'good' : 'bad'} />
              </p>
              {isNarrowed && (
                <p>
                  <span class="theirs">{Object.values(labels).filter(Boolean).join(' · ')}</span>{' '}
                  <span class="quiet">{t('statements.narrowed')}</span>
                </p>
              )}
            </header>
            {totals.map(total => (
              <Total key={total.currency} of={total} href={costsHref(params)} />
            ))}
            {split.length > 0 && (
              <Labels
                of={split}
                kind={kind === 'tag' ? 'tag' : 'end_user'}
                hrefOf={label => path + setQuery(query, { by: null, [kind === 'tag' ? 'tag' : 'end_user']: label })}
              />
            )}
            {accounts.length === 0 && balances.length === 0 ? (
              <Empty title={t('statements.none')}>
                {month !== thisMonth && (
                  <a href={path + setQuery(query, { month: thisMonth })}>{t('statements.now')}</a>
                )}
              </Empty>
            ) : (
              accounts.map(account => (
                <AccountSheet
                  key={JSON.stringify([account.user, account.group, account.currency])}
                  of={account}
                  hrefOf={change => path + setQuery(query, change)}
                />
              ))
            )}
            {balances.length > 0 && <Balances of={balances} currency={currency} />}
          </div>
        )}
      </Loaded>
    </Page>
  )
}

type StatementParams = {
  readonly month: string
  readonly zone: string
  readonly user: string | undefined
  readonly group: string | undefined
  readonly end_user: string | undefined
  readonly tag: string | undefined
}
type TotalRow = Statement['totals'][number]

/**
 * The address of the costs page for the same days and filters. Undefined with both labels, because costs are not stored
 * by their combination.
 */
function costsHref({ month, ...filters }: StatementParams): string | undefined {
  if (filters.end_user !== undefined && filters.tag !== undefined) return undefined
  const from = `${month}-01`
  return `/console${queryText({ from, to: addDays(monthOf(from, 1), -1), ...filters })}`
}

/** All accounts in a currency, with a link to the same sum in Costs. */
function Total({ of, href }: { readonly of: TotalRow; readonly href: string | undefined }) {
  const { currency, accounts, charges, refunds } = of
  const sums = [
    [t('statements.opening'), of.opening],
    [`${t('statements.charged')} (${count(charges)})`, of.charged],
    [`${t('costs.refunded')} (${count(refunds)})`, negative(of.refunded)],
    [t('statements.closing'), of.closing],
  ] as const
  return (
    <section class="card statement" aria-label={`${t('statements.total')} ${currency}`}>
      <h2>
        {t('statements.total')} <span class="quiet">{t('statements.accounts', { count: count(accounts) })}</span>
      </h2>
      <Sums of={sums} currency={currency} />
      <Reconciliation
        of={of}
        name={href === undefined ? t('statements.costs') : <a href={href}>{t('statements.costs')}</a>}
      />
    </section>
  )
}

function AccountSheet({
  of: { user, group, currency, opening, charges, charged, refunds, refunded, closing, lines },
  hrefOf,
}: {
  readonly of: Account
  readonly hrefOf: (change: { readonly user: string; readonly group: string }) => string
}) {
  const title = `${user} · ${group}`
  const sums = [
    [t('statements.opening'), opening],
    [`${t('statements.charged')} (${count(charges)})`, charged],
    [`${t('costs.refunded')} (${count(refunds)})`, negative(refunded)],
    [t('statements.closing'), closing],
  ] as const
  return (
    <section class="card statement" aria-label={title}>
      <h2>
        <a class="theirs" href={hrefOf({ user, group })}>
          {title}
        </a>
      </h2>
      {lines.length > 0 && (
        <Table
          label={title}
          rows={lines}
          rowKey={({ model, tier }) => JSON.stringify([model, tier])}
          columns={[
            { head: t('model'), heading: true, wide: true, cell: line => <span class="theirs">{line.model}</span> },
            { head: t('costs.tier'), cell: ({ tier }) => tName('unit', tier) },
            { head: t('costs.images'), numeric: true, cell: ({ images }) => (images === 0 ? '–' : count(images)) },
            {
              head: t('statements.quantity'),
              numeric: true,
              cell: ({ quantity }) => (quantity === 0 ? '–' : count(quantity)),
            },
            moneyColumn({
              head: t('statements.charged'),
              rows: lines,
              amount: line => line.charged,
              currency,
              isFixed: true,
              isExact: true,
            }),
            moneyColumn({
              head: t('costs.refunded'),
              rows: lines,
              amount: line => line.refunded,
              currency,
              isFixed: true,
              isExact: true,
            }),
          ]}
        />
      )}
      <Sums of={sums} currency={currency} />
    </section>
  )
}

type Balance = Statement['balances'][number]

/** Prepaid balances: payments, charges and the rest. The sums of the accounts next to them include all charges. */
function Balances({ of, currency }: { readonly of: readonly Balance[]; readonly currency: string }) {
  const sums = [
    ['opening', t('statements.before')],
    ['topped_up', t('statements.topped_up')],
    ['charged', t('statements.from_balance')],
    ['refunded', t('costs.refunded')],
    ['closing', t('statements.after')],
  ] as const
  return (
    <section class="card statement" aria-labelledby="balances">
      <h2 id="balances">{t('statements.balances')}</h2>
      <Table
        label={t('statements.balances')}
        rows={of}
        rowKey={({ user }) => user}
        columns={[
          { head: t('user'), heading: true, wide: true, cell: ({ user }) => <span class="theirs">{user}</span> },
          { head: t('group'), cell: ({ group }) => <span class="theirs">{group}</span> },
          ...sums.map(([name, head]) =>
            moneyColumn<Balance>({ head, rows: of, amount: row => row[name], currency, isFixed: true, isExact: true }),
          ),
        ]}
      />
    </section>
  )
}
