import type { OperationTraits } from '../../src/plugin-api/index.ts'
import type { UsageFacet } from './schema.ts'

/** The operation costs nothing, here or anywhere. */
export function isFree(
  { operation, traits }: { readonly operation: string; readonly traits?: OperationTraits | undefined },
  facet: UsageFacet,
): boolean {
  return traits?.free === true || facet.free_operations.includes(operation)
}
