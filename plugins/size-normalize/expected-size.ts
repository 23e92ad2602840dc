import type { AskedSize, Json } from '../../src/plugin-api/index.ts'
import { chooseShape } from './choose-shape.ts'
import { readRule, type Size } from './read-rule.ts'
import { readSize } from './read-size.ts'
import type { SizeFacet } from './schema.ts'

/** The expected pixels for a size by the family's table; null without a row. */
export function expectedSize(facet: SizeFacet, operation: string, size: AskedSize['size']): Size | null {
  const rule = readRule(facet)
  const { resolution, ratio } = chooseShape(rule, operation, size)
  if (ratio === null || (rule.kind === 'snap' && resolution === null)) return null
  return rule.pixels.get(resolution === null ? ratio : `${resolution} ${ratio}`) ?? null
}

/** A size as the family reads it, with the expected result. `value` is the sent field; undefined if it was not sent. */
export function readRequestedSize(facet: SizeFacet, operation: string, value: Json | undefined): AskedSize {
  const rule = readRule(facet)
  const { text, size } = readSize(value, rule.labels)
  const { resolution, ratio } = chooseShape(rule, operation, size)
  return { text, size, expected: expectedSize(facet, operation, size), resolution, ratio }
}
