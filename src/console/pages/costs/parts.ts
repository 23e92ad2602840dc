import type { CostSplit } from '../../../domain/costs.ts'
import { t, tName } from '../../words/index.ts'
import { tOperation } from '../../words/operation.ts'

/** The name of a part. `names`: the names of keys, by id. */
export function nameOf(part: CostSplit, what: string, names: { readonly [id: string]: string }): string {
  if (part === 'key') return names[what] ?? what
  if (part === 'operation') return tOperation(what)
  if (part === 'tier') return tName('unit', what)
  return what
}

/** The names in a filter with one or more values. */
export function namesOf(part: CostSplit, what: string, names: { readonly [id: string]: string }): string {
  return part === 'end_user' || part === 'tag'
    ? what
    : what
        .split(',')
        .map(one => nameOf(part, one, names))
        .join(', ')
}

export function partName(part: CostSplit): string {
  if (part === 'key') return t('token')
  return part === 'tier' || part === 'end_user' || part === 'tag' ? t(`costs.${part}`) : t(part)
}
