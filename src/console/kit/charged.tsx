import type { BillingRecord } from '../api/shapes.ts'
import { shownAmount } from '../shown-money.ts'
import { t } from '../words/index.ts'
import { Money } from './money.tsx'

/** The charge, and its refund if there is one. */
export function Charged({ of: { amount, refunded, currency } }: { readonly of: BillingRecord }) {
  const charged = <Money amount={amount} currency={currency} />
  if (Number(refunded) === 0) return charged
  return (
    <span class="given-back">
      {refunded === amount ? <s>{charged}</s> : charged}{' '}
      <span class="quiet" title={`${refunded} ${currency}`}>
        {t('logs.refunded', { amount: shownAmount(refunded) })}
      </span>
    </span>
  )
}
