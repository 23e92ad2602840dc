import type { ChargeItem, ChargeItemFacts } from '../../domain/charge.ts'

/**
 * The beginning of the cell of an item whose source is the response's report. The column `source` of such an item is
 * `output`, because the column allows only three values.
 */
export const itemFactsBegin = '{"source":"told"'

/** The cell of the column `told` for a charge item. */
export function writeItemFacts({ source, told }: ChargeItem): string | null {
  if (source === 'told') return JSON.stringify({ source, ...told })
  return told === undefined ? null : JSON.stringify(told)
}

/** The fields that the cell adds to an item. */
export function readItemFacts(cell: unknown): Pick<ChargeItem, 'told'> & Partial<Pick<ChargeItem, 'source'>> {
  if (typeof cell !== 'string') return {}
  const { source, ...told } = JSON.parse(cell) as ChargeItemFacts & { readonly source?: 'told' }
  return { ...(source && { source }), ...(Object.keys(told).length > 0 && { told }) }
}
