import type { Body, Json } from '../../src/plugin-api/index.ts'
import { isCountName } from './count-names.ts'
import { valuesAt } from './count-paths.ts'
import { type Shaped, shapeFields } from './forward-fields.ts'
import { fail } from './errors.ts'

/** Lists contain earlier messages or tools; schemas describe and request nothing. */
const elsewhere = /\[\]|schema|(?:^|\.)(?:properties|metadata|labels|logit_bias)(?:\.|$)/i

/**
 * Removes from a body in a vendor's own format undeclared fields that set a number of pictures, because no money would
 * be held for them. Words such as `count` may mean anything in tool arguments, schemas and messages, so only numbers
 * outside lists and schemas are removed.
 * @throws Failure `count_repeated` if a declared one is ambiguous
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
  // Parsers differ over which of two members counts: the upstream may read the other one than the hold.
  for (const [path, times] of seen)
    if (times > 1 || valuesAt(body, path).length === 0) throw fail('count_repeated', { field: path }, { param: path })
  return { body: json === body.json ? body : { kind: 'json', json }, dropped: [...dropped] }
}

/** Of two members with one name either may be read: an undecidable one counts as a number of pictures. */
function isNumber(value: Json | undefined): boolean {
  return value === undefined || typeof value === 'number' || (typeof value === 'string' && /^\s*\d+\s*$/.test(value))
}
