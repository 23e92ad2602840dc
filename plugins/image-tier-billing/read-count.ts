import { type Body, readField } from '../../src/kit/index.ts'
import { fail } from './errors.ts'

/**
 * How many images are asked for: `n`, 1 when it is absent or null. JSON has to send a whole number, a form its digits.
 * @throws Failure `invalid_n` for anything else, and for more than the family takes.
 */
export function readCount(body: Body, max: number): number {
  const value = readField(body, 'n')
  if (value === undefined || value === null) return 1
  const count = body.kind === 'form' && typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > max) {
    throw fail('invalid_n', { max, value: JSON.stringify(value).slice(0, 40) })
  }
  return count
}
