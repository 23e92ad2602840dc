import type { Model } from '../../src/plugin-api/index.ts'

/** Whether a model takes requests of an operation translated: it accepts them, and its family does not forward them. */
export function isAccepted({ family: { forward }, accepts }: Model, operation: string): boolean {
  return !forward.has(operation) && accepts?.has(operation) === true
}
