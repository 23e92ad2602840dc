import { StorageError } from '../errors.ts'

/** Classes of SQLSTATE that speak of the server or our place at it, not of the statement. */
const serverClasses = new Map([
  ['08', 'the connection failed'],
  ['25', 'the database takes no writes'],
  ['28', 'the database refuses the role or its password'],
  ['3D', 'there is no such database'],
  ['53', 'the server is out of room, memory or connections'],
  ['55', 'a row or table stays locked'],
  ['57', 'the server stopped the statement'],
  ['58', 'the server has trouble with its disk'],
  ['XX', 'the server failed'],
])
/** Another transaction was faster, or two waited for each other: the same again may succeed. */
const conflictCodes = new Set(['40001', '40P01', '55P03'])
/** Two have made the same row: who comes second finds it. */
const sameRow = '23505'
/** Waiting will not help: what was written in the address is not so. */
const wrongAddress = new Set(['28', '3D'])

/** https://www.postgresql.org/docs/current/errcodes-appendix.html; undefined when the server never answered. */
function stateOf(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined
}

/** Why the storage cannot be written or read at all; undefined when the error is one statement's own. */
export function storageFailure(error: unknown): string | undefined {
  const state = stateOf(error)
  if (state === undefined) return `the database does not answer (${messageOf(error)})`
  const reason = state === '42501' ? 'the role may not do this' : serverClasses.get(state.slice(0, 2))
  return reason === undefined ? undefined : `${reason} (${messageOf(error)})`
}

/** True when the connection is of no more use. One to a server that takes no writes is not: another may have taken its place. */
export function isLost(error: unknown): boolean {
  const state = stateOf(error)
  const { severity } = error as { severity?: unknown }
  return state === undefined || state === '25006' || severity === 'FATAL' || severity === 'PANIC'
}

/** Whether the same again may succeed: `conflict` for as long as others are in the way, `twice` when it finds what is there. */
export function mayRetry(error: unknown): 'conflict' | 'twice' | undefined {
  const state = stateOf(error) ?? ''
  if (conflictCodes.has(state)) return 'conflict'
  return state === sameRow ? 'twice' : undefined
}

/** True when a statement took longer than it may: on a lock, as a rule. */
export function isStopped(error: unknown): boolean {
  return stateOf(error) === '57014'
}

export function isWrongAddress(error: unknown): boolean {
  return wrongAddress.has(stateOf(error)?.slice(0, 2) ?? '')
}

/** What a failed statement is to the rest of the product. */
export function toStorageError(error: unknown): Error {
  if (error instanceof StorageError) return error
  const reason = storageFailure(error)
  if (reason !== undefined) return new StorageError('storage_unavailable', { reason })
  if (conflictCodes.has(stateOf(error) ?? '')) return new StorageError('storage_busy', { reason: messageOf(error) })
  return error instanceof Error ? error : new Error(String(error))
}

/** Several addresses of one name that all failed say so without a message of their own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
