import { type Body, isEmptyField, type Json } from '../../src/plugin-api/index.ts'
import { valuesAt } from './count-paths.ts'
import { fail } from './errors.ts'

const nAlone = ['n'] as const

/**
 * The number of requested images: the highest value of all paths, 1 if none is set. JSON must contain whole numbers, a
 * form digits. Null and empty text count as absent; in a form also 0, which some clients send for it.
 * @throws Failure `invalid_n` for anything else, and for more than the family accepts
 */
export function readCount(body: Body, max: number, paths: readonly string[] = nAlone): number {
  let most = 1
  for (const path of paths)
    for (const { value, isText } of valuesAt(body, path)) {
      if (isAbsent(value, isText)) continue
      const count = isText && typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
      if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > max)
        throw fail('invalid_n', { field: path, max, value: JSON.stringify(value).slice(0, 40) }, { param: path })
      most = Math.max(most, count)
    }
  return most
}

/**
 * Whether a value counts as absent: clients that always send a field send empty values. `isText`: it is from a form.
 */
export function isAbsent(value: Json | undefined, isText: boolean): boolean {
  return isEmptyField(value) || (isText && typeof value === 'string' && /^0+$/.test(value))
}
