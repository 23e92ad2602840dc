import { isCountName } from './count-names.ts'
import { fail } from './errors.ts'

/**
 * What stands in the address goes on as it is, and some upstreams read a number of images there.
 * @throws Failure `count_in_address`
 */
export function checkQuery(query: string): void {
  for (const name of new URLSearchParams(query).keys())
    if (name.split(/[.[\]]/).some(part => part !== '' && isCountName(part)))
      throw fail('count_in_address', { name: name.slice(0, 40) })
}
