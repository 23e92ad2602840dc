import type { Body, Json } from '../../src/plugin-api/index.ts'
import { isCountName } from './count-names.ts'
import { valuesAt } from './count-paths.ts'
import { type Shaped, shapeFields } from './forward-fields.ts'
import { fail } from './errors.ts'

/** Places where a count means something else: lists contain earlier messages or tools, and schemas only describe. */
const elsewhere = /\[\]|schema|(?:^|\.)(?:properties|metadata|labels|logit_bias)(?:\.|$)/i

/**
 * Removes undeclared fields that set a number of pictures from a body in a vendor's own format, because no money would
 * be held for them. Words such as `count` may mean anything in tool arguments, schemas and messages, so only numbers
 * outside lists and schemas are removed.
 * @throws Failure `count_repeated` if a declared field is ambiguous
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
  // Parsers differ in which of two equal members they use: the upstream may read the other one than the hold.
  for (const [path, times] of seen)
    if (times > 1 || valuesAt(body, path).length === 0) throw fail('count_repeated', { field: path }, { param: path })
  return { body: json === body.json ? body : { kind: 'json', json }, dropped: [...dropped] }
}

/**
 * Whether a value is a number of pictures. It is undefined for two members with the same name, either of which may be
 * read; that counts as a number.
 */
function isNumber(value: Json | undefined): boolean {
  return value === undefined || typeof value === 'number' || (typeof value === 'string' && /^\s*\d+\s*$/.test(value))
}
