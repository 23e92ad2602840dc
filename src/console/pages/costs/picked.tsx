import type { CostSplit } from '../../../domain/costs.ts'
import { count } from '../../numbers.ts'
import { shownAmount } from '../../shown-money.ts'
import { t } from '../../words/index.ts'
import { type Comparison, comparisonOf, partnerOf } from './compare.ts'
import type { Part } from './currency-costs.ts'

/**
 * Selected rows, by name: one is compared with the most expensive other, two with each other, any number can be a
 * filter.
 */
export function Picked({
  parts,
  all,
  by,
  currency,
  nameOf,
  hrefOf,
}: {
  readonly parts: readonly Part[]
  readonly all: readonly Part[]
  readonly by: CostSplit
  readonly currency: string
  readonly nameOf: (what: string) => string
  readonly hrefOf: (change: { readonly [name: string]: string | null }) => string
}) {
  const names = parts.flatMap(({ what }) => (what === null ? [] : [what]))
  const [a, b] = parts
  if (!a) return null
  const other = b ?? partnerOf(a, all)
  const compared = other && parts.length <= 2 ? comparisonOf(a, other) : undefined
  // Labels and texts with a comma can only be filters one at a time.
  const isFilter = names.length === 1 || (by !== 'end_user' && by !== 'tag' && names.every(name => !name.includes(',')))
  return (
    <div class="note inline picked" role="status">
      <span>
        {compared ? sentenceOf(compared, currency, nameOf) : t('costs.picked', { count: count(names.length) })}
      </span>
      {isFilter && <a href={hrefOf({ [by]: names.join(','), by: null, pick: null })}>{t('costs.pick.filter')}</a>}
      <a href={hrefOf({ pick: null })}>{t('costs.pick.clear')}</a>
    </div>
  )
}

function sentenceOf(
  { unit, dear, cheap, more, less, tenths }: Comparison,
  currency: string,
  nameOf: (what: string) => string,
): string {
  const values = {
    dear: nameOf(dear.what ?? ''),
    cheap: nameOf(cheap.what ?? ''),
    unit: t(`costs.compare.${unit}`),
    more: shownAmount(more),
    less: shownAmount(less),
    currency,
  }
  if (tenths === undefined) return t('costs.compare.free', values)
  return t('costs.compare', { ...values, times: count(tenths >= 100 ? Math.round(tenths / 10) : tenths / 10) })
}
