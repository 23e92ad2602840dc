import type { SizePrice } from '../../domain/price-list.ts'
import { Money } from '../kit/money.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { tMismatch } from '../words/mismatch.ts'
import { tOperation } from '../words/operation.ts'
import type { ImageModel } from './image-models.ts'
import { t } from './words.ts'

/** The results of sizes: one row for a size, one column for each operation. */
export function Sizes({ of, currency }: { readonly of: ImageModel; readonly currency: string }) {
  const { sizes, tiers } = of.images
  const operations = [...new Set(sizes.map(row => row.operation))]
  const reachable = tiers.filter(({ reach }) => reach.kind === 'yes')
  const only = reachable.length === 1 ? reachable[0] : undefined
  const tierOf = ({ tier }: SizePrice) => tiers.find(one => one.tier === tier)
  const columns: readonly Column<SizePrice>[] = [
    { head: t('pricing.asked'), heading: true, cell: ({ asked }) => asked ?? t('pricing.asked.none') },
    ...operations.map(operation => ({
      head: t('pricing.returned', { operation: tOperation(operation) }),
      cell: ({ asked }: SizePrice) => tComesBack(sizes.find(one => one.operation === operation && one.asked === asked)),
    })),
    {
      head: t('label.tier'),
      cell: row => tierOf(row)?.tier ?? (only ? t('pricing.in_practice', { tier: only.tier }) : t('pricing.by_image')),
    },
    {
      head: t('pricing.each'),
      sparse: true,
      cell(row) {
        const likely = tierOf(row) ?? only
        if (of.free) return t('free')
        return likely && <Money exact amount={likely.price} currency={currency} />
      },
    },
    { head: t('pricing.remark'), wide: true, sparse: true, cell: ({ mismatch }) => mismatch && remark(mismatch) },
  ]
  return (
    <Table
      label={`${of.name}${t('colon')}${t('pricing.sizes')}`}
      columns={columns}
      rows={sizes.filter(row => row.operation === operations[0])}
      rowKey={({ asked }) => asked ?? ''}
    />
  )
}

function remark(mismatch: NonNullable<SizePrice['mismatch']>) {
  if (mismatch.kind === 'ignored') return null
  return <span class={mismatch.kind === 'dearer' ? 'note warn' : 'quiet'}>{tMismatch(mismatch)}</span>
}

/** The pixels if the family's table has them; otherwise the known aspect ratio. */
function tComesBack(size: SizePrice | undefined): string {
  if (size?.comesBack) return size.comesBack
  const resolution = size?.resolution?.toUpperCase()
  const ratio = size?.ratio
  if (resolution && ratio) return t('pricing.shape.both', { resolution, ratio })
  if (resolution) return t('pricing.shape.open', { resolution })
  return ratio ?? t('pricing.shape.none')
}
