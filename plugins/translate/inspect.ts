import type { Diagnostic } from '../../src/kit/index.ts'
import type { TranslateFacet } from './schema.ts'

export function inspect(_facet: TranslateFacet): readonly Diagnostic[] {
  return []
}
