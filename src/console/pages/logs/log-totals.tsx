import { Kept } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Time } from '../../kit/time.tsx'
import { Totals } from '../../kit/totals.tsx'
import { count } from '../../numbers.ts'
import { t } from '../../words/index.ts'
import { setQuery } from '../../query.ts'
import { type SoFar, useAllTotals } from './all-totals.ts'

/** Errors link to the requests that failed, within the same filter. */
function FailedLink({
  count: errors,
  query,
}: {
  readonly count: number
  readonly query: { readonly [name: string]: string | undefined }
}) {
  if (query['result'] !== undefined || query['outcome'] !== undefined) return <>{count(errors)}</>
  return <a href={`/console/logs${setQuery(query, { result: 'unsuccessful', before: null })}`}>{count(errors)}</a>
}

/** The totals of a filter. `filter`: a query, `?…` or empty. */
export function LogTotals({
  filter,
  query,
}: {
  readonly filter: string
  /** The query of the page, for the link to its errors. */
  readonly query: { readonly [name: string]: string | undefined }
}) {
  return <Kept of={useAllTotals(filter)}>{value => <Sums of={value} filter={filter} query={query} />}</Kept>
}

function Sums({ of: value, filter, query }: { readonly of: SoFar } & Parameters<typeof LogTotals>[0]) {
  if (value.requests === 0 && value.charges === 0 && value.next === null) return null
  const { requests, errors, charges, images, sums, since } = value
  return (
    <Totals
      of={[
        [t('requests'), count(requests)],
        ...(errors > 0 ? [[t('errors'), <FailedLink count={errors} query={query} />] as const] : []),
        [t('costs.charges'), count(charges)],
        ...(images > 0 ? [[t('costs.images'), count(images)] as const] : []),
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
          {t(value.isBroken ? 'totals.broken' : 'totals.sofar')} <Time at={since} />
        </p>
      )}
      {!/[?&]operation=/.test(filter) && <p class="quiet">{t('totals.lookups')}</p>}
    </Totals>
  )
}
