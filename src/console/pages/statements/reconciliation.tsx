import type { ComponentChildren } from 'preact'
import type { Statement } from '../../api/shapes.ts'
import { Money } from '../../kit/money.tsx'
import { placesOf, shownExact } from '../../shown-money.ts'
import { t } from '../../words/index.ts'

/** Aligned amounts, one below the other; the last is their sum. */
export function Sums({
  of,
  currency,
}: {
  readonly of: readonly (readonly [name: ComponentChildren, amount: string])[]
  readonly currency: string
}) {
  const places = Math.max(...of.map(([, amount]) => placesOf(shownExact(amount))))
  return (
    <dl class="sums">
      {of.map(([name, amount], at) => (
        <div key={at}>
          <dt>{name}</dt>
          <dd>
            <Money exact amount={amount} currency={currency} places={places} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A subtracted amount. */
export function negative(amount: string): string {
  return Number(amount) === 0 ? amount : amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

/**
 * Leads from a month's statement to its costs: a statement has refunds in the month of the refund, Costs in the month
 * of the charge.
 */
export function Reconciliation({
  of: { currency, net, refunded_earlier: earlier, refunded_later: later, costs },
  name,
}: {
  readonly of: Statement['totals'][number]
  /** The name of the last sum. */
  readonly name: ComponentChildren
}) {
  const sums = [
    [t('statements.net'), net],
    [t('statements.earlier'), earlier],
    [t('statements.later'), negative(later)],
    [name, costs],
  ] as const
  return (
    <>
      <h3>{t('statements.reconcile')}</h3>
      <p class="quiet">{t('statements.reconcile.text')}</p>
      <Sums of={sums} currency={currency} />
    </>
  )
}
