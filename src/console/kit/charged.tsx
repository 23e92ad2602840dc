import type { BillingRecord } from '../api/shapes.ts'
import { t } from '../words/index.ts'
import { Money } from './money.tsx'

/** What was charged, and the refund if there is one. */
export function Charged({ of: { amount, refunded, currency } }: { readonly of: BillingRecord }) {
  if (Number(refunded) === 0) return <Money amount={amount} currency={currency} />
  return (
    <span class="given-back">
      <s>
        <Money amount={amount} currency={currency} />
      </s>{' '}
      <span class="quiet">{t('logs.refunded', { amount: refunded })}</span>
    </span>
  )
}
