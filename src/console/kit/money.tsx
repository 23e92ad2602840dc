import { shortCount } from '../numbers.ts'

/** An amount and its currency's code; a price may be for more than one unit. */
export function Money({
  amount,
  currency,
  per = 1,
}: {
  readonly amount: string
  readonly currency: string
  readonly per?: number
}) {
  return (
    <span class="money">
      {amount} <abbr>{currency}</abbr>
      {per > 1 && <span class="quiet"> / {shortCount(per)}</span>}
    </span>
  )
}
