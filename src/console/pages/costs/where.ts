import type { CostPart } from '../../../domain/costs.ts'

export type Where = { readonly [P in CostPart]?: string }

/** The splits of costs, the most used first. A user who sees only themselves has no list of users. */
const inOrder = [
  'user',
  'tier',
  'model',
  'key',
  'group',
  'operation',
  'upstream',
] as const satisfies readonly CostPart[]

/** The splits that the user may see. */
export function partsFor(readsAll: boolean): readonly CostPart[] {
  return readsAll ? inOrder : inOrder.filter(part => part !== 'user' && part !== 'group')
}

/** The filters in the address. */
export function readWhere(query: { readonly [name: string]: string | undefined }): Where {
  return Object.fromEntries(inOrder.flatMap(part => (query[part] ? [[part, query[part]]] : [])))
}

/** The split in the address; else the first without a filter. */
export function readBy(wanted: string | undefined, where: Where, readsAll: boolean): CostPart {
  const known = partsFor(readsAll)
  const chosen = known.find(part => part === wanted)
  return chosen ?? known.find(part => where[part] === undefined) ?? 'model'
}
