import type { ChargeItem, ChargeItemFacts } from '../../domain/charge.ts'

/**
 * How the cell begins of a line whose source is what the answer says of itself: the column `source` of such a line is
 * `output`, since it knows no more than three words.
 */
export const itemFactsBegin = '{"source":"told"'

/** The cell `told` of a charge item. */
export function writeItemFacts({ source, told }: ChargeItem): string | null {
  if (source === 'told') return JSON.stringify({ source, ...told })
  return told === undefined ? null : JSON.stringify(told)
}

/** What the cell adds to a line. */
export function readItemFacts(cell: unknown): Pick<ChargeItem, 'told'> & Partial<Pick<ChargeItem, 'source'>> {
  if (typeof cell !== 'string') return {}
  const { source, ...told } = JSON.parse(cell) as ChargeItemFacts & { readonly source?: 'told' }
  return { ...(source && { source }), ...(Object.keys(told).length > 0 && { told }) }
}
