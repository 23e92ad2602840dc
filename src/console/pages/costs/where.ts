import type { CostPart } from '../../../domain/costs.ts'

export type Where = { readonly [P in CostPart]?: string }

/** What costs are split by, the most used first. A user who sees only themselves is in no list of users. */
const inOrder = [
  'user',
  'tier',
  'model',
  'key',
  'group',
  'operation',
  'upstream',
] as const satisfies readonly CostPart[]

/** What costs are split by that the user may see. */
export function partsFor(readsAll: boolean): readonly CostPart[] {
  return readsAll ? inOrder : inOrder.filter(part => part !== 'user' && part !== 'group')
}

/** What the address narrows costs to. */
export function readWhere(query: { readonly [name: string]: string | undefined }): Where {
  return Object.fromEntries(inOrder.flatMap(part => (query[part] ? [[part, query[part]]] : [])))
}

/** What the address splits costs by; else the first that they are not narrowed to. */
export function readBy(wanted: string | undefined, where: Where, readsAll: boolean): CostPart {
  const known = partsFor(readsAll)
  const chosen = known.find(part => part === wanted)
  return chosen ?? known.find(part => where[part] === undefined) ?? 'model'
}
