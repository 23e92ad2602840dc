import { shortCount } from '../numbers.ts'
import { placesOf, shownAmount, shownForecast } from '../shown-money.ts'
import type { Column } from './table.tsx'

/** An amount and its currency's code; the exact amount is its tooltip. A price may be for more than one unit. */
export function Money({
  amount,
  currency,
  per = 1,
  exact = false,
  places = 0,
}: {
  readonly amount: string
  /** Omitted if a heading or another amount says it. */
  readonly currency?: string
  readonly per?: number
  /** Prices, quotes and bills: their sums have to add up on the page. */
  readonly exact?: boolean
  /** The decimals of the column, so that its amounts are aligned. */
  readonly places?: number
}) {
  const shown = exact ? amount : shownAmount(amount)
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
      {per > 1 && <span class="quiet"> / {shortCount(per)}</span>}
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

/** A column of amounts, aligned at their decimal points. */
export function moneyColumn<Row>({
  head,
  rows,
  amount,
  currency,
}: {
  readonly head: string
  /** All rows that the table shows. */
  readonly rows: readonly Row[]
  readonly amount: (row: Row) => string
  readonly currency?: string | ((row: Row) => string)
}): Column<Row> {
  const places = Math.max(2, ...rows.map(row => placesOf(shownAmount(amount(row)))))
  return {
    head,
    numeric: true,
    cell: row => {
      const unit = typeof currency === 'function' ? currency(row) : currency
      return <Money amount={amount(row)} places={places} {...(unit !== undefined && { currency: unit })} />
    },
  }
}
