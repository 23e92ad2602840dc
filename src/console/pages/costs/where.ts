import type { CostSplit } from '../../../domain/costs.ts'

export type Where = { readonly [P in CostSplit]?: string }

/** The splits of costs, the most used first. Users who see only their own costs cannot split them by user. */
const inOrder = [
  'user',
  'tier',
  'model',
  'key',
  'group',
  'operation',
  'upstream',
  'end_user',
  'tag',
] as const satisfies readonly CostSplit[]

/** Costs are not stored by the combination of end user and tag. */
const notWith: { readonly [P in CostSplit]?: CostSplit } = { end_user: 'tag', tag: 'end_user' }

/** The splits that the user may see. */
export function partsFor(readsAll: boolean, where: Where = {}): readonly CostSplit[] {
  const own = readsAll ? inOrder : inOrder.filter(part => part !== 'user' && part !== 'group')
  return own.filter(part => {
    const other = notWith[part]
    return other === undefined || where[other] === undefined
  })
}

export function hasLabel({ end_user: endUser, tag }: Where): boolean {
  return endUser !== undefined || tag !== undefined
}

/** Whether a filter has several values, which the log does not support. */
export function hasSeveral(where: Where): boolean {
  return Object.entries(where).some(([part, value]) => part !== 'end_user' && part !== 'tag' && value.includes(','))
}

/** The filters in the address. */
export function readWhere(query: { readonly [name: string]: string | undefined }): Where {
  return Object.fromEntries(inOrder.flatMap(part => (query[part] ? [[part, query[part]]] : [])))
}

/** A change that removes all filters. */
export const noParts: { readonly [name: string]: null } = Object.fromEntries(
  [...inOrder, 'by', 'pick'].map(part => [part, null]),
)

/** The split in the address; otherwise the first one without a filter. */
export function readBy(wanted: string | undefined, where: Where, readsAll: boolean): CostSplit {
  const known = partsFor(readsAll, where)
  const chosen = known.find(part => part === wanted)
  return chosen ?? known.find(part => where[part] === undefined) ?? 'model'
}
