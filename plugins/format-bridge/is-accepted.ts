import type { Model } from '../../src/plugin-api/index.ts'

/**
 * Whether a model accepts translated requests of an operation: it accepts the operation, and its family does not
 * forward it.
 */
export function isAccepted({ family: { forward }, accepts }: Model, operation: string): boolean {
  return !forward.has(operation) && accepts?.has(operation) === true
}
