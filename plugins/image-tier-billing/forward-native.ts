import type { Body, Json } from '../../src/plugin-api/index.ts'
import { isCountName } from './count-names.ts'
import { valuesAt } from './count-paths.ts'
import { type Shaped, shapeFields } from './forward-fields.ts'
import { fail } from './errors.ts'

/** Lists contain earlier messages, or tools; schemas describe, and do not request. */
const elsewhere = /\[\]|schema|(?:^|\.)(?:properties|metadata|labels|logit_bias)(?:\.|$)/i

/**
 * Takes out of a body in a vendor's own style what asks for a number of pictures that the family does not declare: nobody
 * would hold money for them. There a word like `count` may mean anything, as an argument of a tool, a property of a schema,
 * something that was said: only a number outside of lists and schemas asks for so many.
 * @throws Failure `count_repeated` where a declared one can be read in two ways
 */
export function shapeNative(body: Body, paths: readonly string[]): Shaped {
  if (body.kind !== 'json') return shapeFields(body, paths)
  const declared = new Set(paths)
  const ends = new Set(paths.map(path => path.slice(path.lastIndexOf('.') + 1)))
  const seen = new Map<string, number>()
  const dropped = new Set<string>()
  const json = body.json.prune((name, path) => {
    if (!ends.has(name) && !isCountName(name)) return false
    const whole = path()
    if (declared.has(whole)) {
      seen.set(whole, (seen.get(whole) ?? 0) + 1)
      return false
    }
    if (!isCountName(name) || elsewhere.test(whole) || !isNumber(valuesAt(body, whole)[0]?.value)) return false
    dropped.add(whole)
    return true
  })
  // Readers differ over which of two members counts: the upstream may not take the one that was held for.
  for (const [path, times] of seen)
    if (times > 1 || valuesAt(body, path).length === 0) throw fail('count_repeated', { field: path }, { param: path })
  return { body: json === body.json ? body : { kind: 'json', json }, dropped: [...dropped] }
}

/** Of two members of one name either may be what is read: what cannot be decided is taken for one. */
function isNumber(value: Json | undefined): boolean {
  return value === undefined || typeof value === 'number' || (typeof value === 'string' && /^\s*\d+\s*$/.test(value))
}
