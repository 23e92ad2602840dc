import { useLoad } from '../../api/load.ts'
import type { LogTotals as Sums } from '../../api/shapes.ts'
import { Money } from '../../kit/money.tsx'
import { Time } from '../../kit/time.tsx'
import { Totals } from '../../kit/totals.tsx'
import { count } from '../../numbers.ts'
import { t } from '../../words/index.ts'

/** What the requests of a filter come to. `filter`: a query, `?…` or empty. */
export function LogTotals({ filter }: { readonly filter: string }) {
  const { value } = useLoad<Sums>(`/logs/totals${filter}`)
  if (!value || value.requests === 0) return null
  const { requests, errors, charges, images, sums, since } = value
  return (
    <Totals
      of={[
        [t('requests'), count(requests)],
        ...(errors > 0 ? [[t('errors'), count(errors)] as const] : []),
        [t('costs.charges'), count(charges)],
        ...(images > 0 ? [[t('label.count'), count(images)] as const] : []),
        ...sums.map(({ currency, net }) => [t('costs.spent'), <Money amount={net} currency={currency} />] as const),
        ...sums
          .filter(({ refunded }) => Number(refunded) > 0)
          .map(
            ({ currency, refunded }) => [t('costs.refunded'), <Money amount={refunded} currency={currency} />] as const,
          ),
      ]}
    >
      {since !== null && (
        <p class="quiet">
          {t('totals.newest', { count: count(requests) })} <Time at={since} />
        </p>
      )}
    </Totals>
  )
}
