import type { CostPart } from '../../../kit/costs.ts'
import { t, tName } from '../../words/index.ts'
import { tOperation } from '../../words/operation.ts'

export type Where = { readonly [P in CostPart]?: string }

/** What costs are split by, what is asked for most first. Whoever sees only themselves is in no list of users. */
const inOrder = [
  'user',
  'tier',
  'model',
  'key',
  'group',
  'operation',
  'upstream',
] as const satisfies readonly CostPart[]

/** What costs are split by that whoever looks may ask for. */
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

/** What one part is called. `names`: of keys, by their ids. */
export function nameOf(part: CostPart, what: string, names: { readonly [id: string]: string }): string {
  if (part === 'key') return names[what] ?? what
  if (part === 'operation') return tOperation(what)
  if (part === 'tier') return tName('unit', what)
  return what
}

export function partName(part: CostPart): string {
  return t(part === 'key' ? 'token' : part === 'tier' ? 'costs.tier' : part)
}
