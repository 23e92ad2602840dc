import type { OperationsByName } from '../domain/index.ts'

/** Whether there are names, and all these operations are free: a model with only such operations needs no price. */
export function isAllFree(names: readonly string[], operations: OperationsByName | undefined): boolean {
  return names.length > 0 && names.every(name => operations?.get(name)?.free === true)
}
