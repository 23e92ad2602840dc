import { microsOf } from '../money.ts'
import { perCount } from '../numbers.ts'
import { placesOf, shownAmount, shownAsSmall, shownExact, shownForecast } from '../shown-money.ts'
import type { Column } from './table.tsx'

/** An amount with its currency's code; the tooltip has the exact amount. A price may be for more than one unit. */
export function Money({
  amount,
  currency,
  per = 1,
  exact = false,
  places = 0,
  coarse = false,
}: {
  readonly amount: string
  /** Omitted if a heading or another amount has it. */
  readonly currency?: string
  readonly per?: number
  /** For prices, quotes, bills and statements, whose sums must add up on the page. */
  readonly exact?: boolean
  /** The decimals of the column, so that its amounts are aligned. */
  readonly places?: number
  /** For a column with larger amounts. */
  readonly coarse?: boolean
}) {
  const shown = exact ? shownExact(amount) : (coarse && shownAsSmall(amount)) || shownAmount(amount)
  const missing = places - placesOf(shown)
  const isRounded = shown.replaceAll(',', '').replace('−', '-') !== amount
  return (
    <span class="money" title={isRounded ? [amount, currency].filter(Boolean).join(' ') : undefined}>
      {missing > 0 ? <span class={`short-by-${missing}`}>{shown}</span> : shown}
      {currency !== undefined && (
        <>
          {' '}
          <abbr>{currency}</abbr>
        </>
      )}
      {per > 1 && <span class="quiet"> / {perCount(per)}</span>}
    </span>
  )
}

/** A rounded forecast; the exact one is its tooltip. */
export function Forecast({ amount, currency }: { readonly amount: string; readonly currency?: string }) {
  return (
    <span class="money" title={[amount, currency].filter(Boolean).join(' ')}>
      {shownForecast(amount)}
      {currency !== undefined && (
        <>
          {' '}
          <abbr>{currency}</abbr>
        </>
      )}
    </span>
  )
}

/**
 * A column of amounts, aligned at their decimal points. `isPrecise`: for unit costs, whose small amounts are compared.
 */
export function moneyColumn<Row>({
  head,
  rows,
  amount,
  currency,
  isPrecise = false,
  isFixed = false,
  isExact = false,
}: {
  readonly head: string
  /** All rows that the table shows. */
  readonly rows: readonly Row[]
  /** Undefined for an empty cell. */
  readonly amount: (row: Row) => string | undefined
  readonly currency?: string | ((row: Row) => string)
  readonly isPrecise?: boolean
  /** True if rows keep their order: in a document, or on one page of many. */
  readonly isFixed?: boolean
  /** True for amounts whose sums must add up on the page. */
  readonly isExact?: boolean
}): Column<Row> {
  const amounts = rows.flatMap(row => amount(row) ?? [])
  const isCoarse = !isExact && !isPrecise && amounts.some(one => Math.abs(Number(one)) >= 0.1)
  const places = isCoarse ? 2 : Math.max(2, ...amounts.map(one => placesOf((isExact ? shownExact : shownAmount)(one))))
  return {
    head,
    numeric: true,
    sparse: true,
    ...(!isFixed && {
      sortBy: row => {
        const value = amount(row)
        return value === undefined ? null : microsOf(value)
      },
    }),
    cell: row => {
      const unit = typeof currency === 'function' ? currency(row) : currency
      const value = amount(row)
      if (value === undefined) return null
      return (
        <Money
          amount={value}
          exact={isExact}
          places={places}
          coarse={isCoarse}
          {...(unit !== undefined && { currency: unit })}
        />
      )
    },
  }
}
