import { type Body, isEmptyField, type Json } from '../../src/plugin-api/index.ts'
import { valuesAt } from './count-paths.ts'
import { fail } from './errors.ts'

const nAlone = ['n'] as const

/**
 * How many images are asked for: the most that any of the paths says, 1 when none says anything. JSON has to send whole
 * numbers, a form their digits. Null and empty text are absent, and in a form so is a 0, which some clients write for it.
 * @throws Failure `invalid_n` for anything else, and for more than the family takes
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

/** Nothing, as clients write it that always send a field. `isText`: as a form writes it. */
export function isAbsent(value: Json | undefined, isText: boolean): boolean {
  return isEmptyField(value) || (isText && typeof value === 'string' && /^0+$/.test(value))
}
