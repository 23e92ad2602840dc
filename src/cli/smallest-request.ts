import type { Operation, SmallRequest } from '../index.ts'

/** The first operation of a model with a known small request, image operations last; undefined for none. */
export function smallestRequest(
  operations: readonly Operation[],
  model: string,
  names: readonly string[],
): { readonly operation: string; readonly request: SmallRequest } | undefined {
  const able = operations.filter(({ name, smallest }) => smallest && names.includes(name))
  const operation = able.find(({ traits }) => traits.images === undefined) ?? able[0]
  return operation?.smallest && { operation: operation.name, request: operation.smallest(model) }
}
