import type { Failure } from '../domain/index.ts'

/** Status names by HTTP status; other statuses have the name of their hundred. */
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

/** An error in this API format. */
export function errorObject({ status, message }: Failure): { code: number; message: string; status: string } {
  return { code: status, message, status: words.get(status) ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL') }
}
