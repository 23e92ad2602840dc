import type { Failure } from '../domain/index.ts'

/** Status words by HTTP status; what is not here takes the word of its hundred. */
const words: ReadonlyMap<number, string> = new Map([
  [401, 'UNAUTHENTICATED'],
  [402, 'FAILED_PRECONDITION'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [405, 'UNIMPLEMENTED'],
  [408, 'DEADLINE_EXCEEDED'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [501, 'UNIMPLEMENTED'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
])

/** An error as this API format writes it. */
export function errorObject({ status, message }: Failure): { code: number; message: string; status: string } {
  return { code: status, message, status: words.get(status) ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL') }
}
