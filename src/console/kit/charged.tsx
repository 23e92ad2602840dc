import type { BillingRecord, LogRecord } from '../api/shapes.ts'
import { shownAmount } from '../shown-money.ts'
import { t } from '../words/index.ts'
import { Money } from './money.tsx'

/** The charges of a request: its images and its other usage may have one each. */
export function ChargesOf({ of: { billing, use_billing: use } }: { readonly of: LogRecord }) {
  if (!billing) return <>–</>
  return (
    <>
      <Charged of={billing} />
      {use && (
        <>
          {' + '}
          <Charged of={use} />
        </>
      )}
    </>
  )
}

/** The charge, and its refund if there is one. */
function Charged({ of: { amount, refunded, currency } }: { readonly of: BillingRecord }) {
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
