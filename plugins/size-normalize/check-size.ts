import type { AskedSize } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import { readRule } from './read-rule.ts'
import type { SizeFacet } from './schema.ts'

/**
 * A family that snaps has to know what a size means; others pass it on (`docs/rules.md#sizes`).
 * @throws Failure invalid_size
 */
export function checkSize(facet: SizeFacet, operation: string, asked: AskedSize, model: string): void {
  const rule = readRule(facet)
  if (asked.size.kind !== 'unread' || rule.kind !== 'snap' || !rule.appliesTo.has(operation)) return
  throw fail('invalid_size', { size: asked.text ?? '', model, labels: rule.labels.join(', ') })
}
