import { useEffect, useState } from 'preact/hooks'
import { ApiError, call } from '../../api/call.ts'
import type { CostUnder } from '../../api/shapes.ts'
import { FilterBar } from '../../kit/filter-bar.tsx'
import { Money, moneyColumn } from '../../kit/money.tsx'
import { Problem } from '../../kit/problem.tsx'
import { Table } from '../../kit/table.tsx'
import { microsOf } from '../../money.ts'
import { changeOf, count } from '../../numbers.ts'
import { shownAmount } from '../../shown-money.ts'
import { setQuery, useQuery } from '../../query.ts'
import { t, tName } from '../../words/index.ts'
import { addDays, dateIn, viewerZone } from '../../zone.ts'
import { readRange } from '../costs/range.ts'
import { RangeFilter } from '../costs/range-filter.tsx'
import type { Edit } from './edit/changes.ts'
import { Findings } from './findings.tsx'

/** The configuration for the computation: a text, changes to the current one, or an earlier version. */
type Terms = { readonly text: string } | { readonly edits: readonly Edit[] } | { readonly taken: number }
type CostState = { readonly value?: CostUnder; readonly error?: ApiError }

/** The cost of a period's charges under another configuration, initially of last month. */
export function WhatIf({ of: terms }: { readonly of: Terms }) {
  const { query, path, set } = useQuery()
  const zone = viewerZone()
  const { from, to, preset } = readRange({ ...query, range: query['range'] ?? 'last' }, dateIn(zone, new Date()))
  const [state, setState] = useState<CostState>({})
  const [turn, setTurn] = useState(0)
  const termsText = JSON.stringify(terms)
  useEffect(() => {
    const abort = new AbortController()
    setState({})
    const span = { since: startOf(from), until: startOf(addDays(to, 1)) }
    const [path, own] = 'taken' in terms ? [`/config/history/${terms.taken}/cost`, {}] : ['/config/cost', terms]
    call<CostUnder>(path, { method: 'POST', body: { ...own, ...span }, signal: abort.signal }).then(
      value => setState({ value }),
      (error: unknown) => {
        if (abort.signal.aborted) return
        setState({ error: error instanceof ApiError ? error : new ApiError(0, 'unexpected', String(error)) })
      },
    )
    return () => abort.abort()
  }, [termsText, from, to, turn])
  const { value, error } = state
  return (
    <section class="section" aria-label={t('whatif')}>
      <h2>{t('whatif')}</h2>
      <FilterBar>
        <RangeFilter
          range={{ preset, from, to }}
          usual="last"
          set={set}
          hrefOf={change => path + setQuery(query, change)}
        />
      </FilterBar>
      <p class="quiet">{t('costs.zone', { zone })}</p>
      <p class="quiet">{t('whatif.how')}</p>
      {error && <Problem error={error} onRetry={() => setTurn(turn + 1)} />}
      {!error && !value && (
        <p class="loading" role="status">
          {t('whatif.busy')}
        </p>
      )}
      {value && (value.ok ? <Costs of={value} /> : <Findings of={value.findings ?? []} />)}
    </section>
  )
}

/** The start of a day in the user's time zone. */
function startOf(day: string): string {
  return new Date(`${day}T00:00`).toISOString()
}

function Costs({ of }: { readonly of: CostUnder }) {
  const { charges = 0, before = '0', after = '0', difference = '0', currency = '' } = of
  const { by_model = [], by_group = [], by_user = [], not_comparable = [], uncounted = [] } = of
  return (
    <div class="stack tight" role="status">
      {charges === 0 && not_comparable.length === 0 && <p class="note">{t('whatif.none')}</p>}
      {charges > 0 && (
        <div class="figures">
          <Figure name={t('whatif.before')} amount={before} currency={currency} />
          <Figure name={t('whatif.after')} amount={after} currency={currency} />
          <Figure
            name={t('whatif.difference')}
            amount={difference}
            isSigned
            currency={currency}
            more={changeOf(microsOf(after), microsOf(before))}
          />
        </div>
      )}
      <Pairs label={t('whatif.by_model')} head={t('model')} rows={by_model} currency={currency} />
      {(by_group.length > 0 || by_user.length > 0) && (
        <details>
          <summary>{t('whatif.more')}</summary>
          <div class="stack tight">
            <Pairs label={t('whatif.by_group')} head={t('group')} rows={by_group} currency={currency} />
            <Pairs label={t('whatif.by_user')} head={t('user')} rows={by_user} currency={currency} />
          </div>
        </details>
      )}
      {not_comparable.length > 0 && (
        <section class="note warn stack tight">
          <h3>{t('whatif.left')}</h3>
          <ul class="notes-list">
            {not_comparable.map(({ reason, model, charges, cost, currency }) => (
              <li key={`${reason} ${model} ${currency}`}>
                <span class="theirs">{model ?? t('whatif.others')}</span>:{' '}
                {t('whatif.left.row', { count: count(charges), amount: `${shownAmount(cost)} ${currency}` })}{' '}
                {tName('whatif.reason', reason)}
              </li>
            ))}
          </ul>
        </section>
      )}
      {uncounted.length > 0 && <p class="note warn">{t('whatif.uncounted', { models: uncounted.join(', ') })}</p>}
    </div>
  )
}

function Figure({
  name,
  amount,
  currency,
  more,
  isSigned = false,
}: {
  readonly name: string
  readonly amount: string
  readonly currency: string
  readonly more?: string
  readonly isSigned?: boolean
}) {
  return (
    <div class="figure">
      <span>{name}</span>
      <span>
        {isSigned && microsOf(amount) > 0n && '+'}
        <Money amount={amount} currency={currency} />
      </span>
      {more && <span class="quiet">{more}</span>}
    </div>
  )
}

type Pair = NonNullable<CostUnder['by_model']>[number]

/** The maximum number of rows of each kind; the largest changes are first. */
const rowsMax = 100

function Pairs({
  label,
  head,
  rows,
  currency,
}: {
  readonly label: string
  readonly head: string
  readonly rows: readonly Pair[]
  readonly currency: string
}) {
  if (rows.length === 0) return null
  const shown = rows.slice(0, rowsMax)
  return (
    <div class="sheet">
      <Table
        label={label}
        rows={shown}
        rowKey={({ name }) => name ?? ''}
        columns={[
          {
            head,
            heading: true,
            wide: true,
            cell: ({ name }) => <span class="theirs">{name ?? t('whatif.others')}</span>,
          },
          { head: t('costs.charges'), numeric: true, cell: ({ charges }) => count(charges) },
          moneyColumn<Pair>({ head: t('whatif.before'), rows: shown, amount: ({ before }) => before, currency }),
          moneyColumn<Pair>({ head: t('whatif.after'), rows: shown, amount: ({ after }) => after, currency }),
          {
            head: t('whatif.difference'),
            numeric: true,
            cell: ({ before, after, difference }) => (
              <span>
                <span title={difference}>{signed(difference)}</span>{' '}
                <span class="quiet">{changeOf(microsOf(after), microsOf(before))}</span>
              </span>
            ),
          },
        ]}
      />
    </div>
  )
}

function signed(difference: string): string {
  const text = shownAmount(difference)
  return microsOf(difference) > 0n ? `+${text}` : text
}
