import type { BillingRecord, LogRecord } from '../api/shapes.ts'
import { shownAmount, shownExact } from '../shown-money.ts'
import { t } from '../words/index.ts'
import { Money } from './money.tsx'

/** The charges of a request: its images and its other usage may have one each. */
export function ChargesOf({
  of: { billing, use_billing: use },
  exact = false,
}: {
  readonly of: LogRecord
  /** For details, which show the amount again with its reason. */
  readonly exact?: boolean
}) {
  if (!billing) return <>–</>
  return (
    <>
      <Charged of={billing} exact={exact} />
      {use && (
        <>
          {' + '}
          <Charged of={use} exact={exact} />
        </>
      )}
    </>
  )
}

/** The charge, and its refund if there is one. */
function Charged({
  of: { amount, refunded, currency },
  exact,
}: {
  readonly of: BillingRecord
  readonly exact: boolean
}) {
  const charged = <Money exact={exact} amount={amount} currency={currency} />
  if (Number(refunded) === 0) return charged
  return (
    <span class="given-back">
      {refunded === amount ? <s>{charged}</s> : charged}{' '}
      <span class="quiet" title={`${refunded} ${currency}`}>
        {t('logs.refunded', { amount: (exact ? shownExact : shownAmount)(refunded) })}
      </span>
    </span>
  )
}
