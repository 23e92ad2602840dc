import type { OperationsByName } from '../domain/index.ts'

/** Whether operations are named and none of them costs anything: a model that serves no others needs no price. */
export function isAllFree(names: readonly string[], operations: OperationsByName | undefined): boolean {
  return names.length > 0 && names.every(name => operations?.get(name)?.free === true)
}
