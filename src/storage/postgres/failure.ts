import { StorageError } from '../errors.ts'

/** Classes of SQLSTATE about the server or its access, not about the statement. */
const serverClasses = new Map([
  ['08', 'the connection failed'],
  ['25', 'the database takes no writes'],
  ['28', 'the database refuses the role or its password'],
  ['3D', 'there is no such database'],
  ['3F', 'no schema of the search path exists; create one, or set another search path for the role'],
  ['53', 'the server is out of room, memory or connections'],
  ['55', 'a row or table stays locked'],
  ['57', 'the server stopped the statement'],
  ['58', 'the server has trouble with its disk'],
  ['XX', 'the server failed'],
])
/** Another transaction was faster, or there was a deadlock: a retry may succeed. */
const conflictCodes = new Set(['40001', '40P01', '55P03'])
/** Two transactions have created the same row: the second finds it in a retry. */
const sameRow = '23505'
/** https://www.postgresql.org/docs/current/errcodes-appendix.html: insufficient_privilege */
const noRight = '42501'
const rights =
  'the role may not do this; grant it SELECT, INSERT, UPDATE and DELETE on the tables, and CREATE on the schema for migrations'
/** https://www.postgresql.org/docs/current/errcodes-appendix.html: a prepared statement is of another session. */
const preparedElsewhere = new Set(['26000', '42P05'])
const pooled =
  'a pooler shares connections between transactions without support for prepared statements; use session pooling'
/** A retry does not help: the address is wrong. */
const wrongAddress = new Set(['28', '3D', '3F'])

/** https://www.postgresql.org/docs/current/errcodes-appendix.html; undefined when the server never answered. */
function stateOf(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined
}

/** Why the storage cannot be written or read at all; undefined if the error belongs to one statement. */
export function storageFailure(error: unknown): string | undefined {
  const state = stateOf(error)
  const fault = addressFault(error)
  if (fault !== undefined) return fault
  if (state === undefined) return `the database does not answer (${messageOf(error)})`
  const known = preparedElsewhere.has(state) ? pooled : serverClasses.get(state.slice(0, 2))
  const reason = state === noRight ? rights : known
  return reason === undefined ? undefined : `${reason} (${messageOf(error)})`
}

/** What is wrong with the address, if the client finds it before or instead of the server. */
function addressFault(error: unknown): string | undefined {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (code === 'ERR_INVALID_URL' || error instanceof URIError)
    return 'it is not a valid address; write special characters of the user and the password as percent codes, such as %40 for @'
  if (syscall === 'open') return `a file that the address names cannot be read (${messageOf(error)})`
  return messageOf(error).includes('client password must be')
    ? 'the server requires a password: put it into the address, into PGPASSWORD or into ~/.pgpass'
    : undefined
}

/**
 * True if the connection cannot be used again. This includes a server that accepts no writes: another server may have
 * replaced it.
 */
export function isLost(error: unknown): boolean {
  const state = stateOf(error)
  const { severity } = error as { severity?: unknown }
  return state === undefined || state === '25006' || severity === 'FATAL' || severity === 'PANIC'
}

/**
 * Whether a retry may succeed: `conflict` as long as other transactions conflict, `twice` if it finds the existing row.
 */
export function mayRetry(error: unknown): 'conflict' | 'twice' | undefined {
  const state = stateOf(error) ?? ''
  if (conflictCodes.has(state)) return 'conflict'
  return state === sameRow ? 'twice' : undefined
}

/** True if a statement took longer than allowed: usually on a lock. */
export function isStopped(error: unknown): boolean {
  return stateOf(error) === '57014'
}

/** True if other transactions blocked the statement for too long: those of other rows can be written. */
export function isBlocked(error: unknown): boolean {
  return isStopped(error) || stateOf(error) === '55P03'
}

export function isWrongAddress(error: unknown): boolean {
  return addressFault(error) !== undefined || wrongAddress.has(stateOf(error)?.slice(0, 2) ?? '')
}

/** The storage error for a failed statement. */
export function toStorageError(error: unknown): Error {
  if (error instanceof StorageError) return error
  const reason = storageFailure(error)
  if (reason !== undefined) return new StorageError('storage_unavailable', { reason })
  if (conflictCodes.has(stateOf(error) ?? '')) return new StorageError('storage_busy', { reason: messageOf(error) })
  return error instanceof Error ? error : new Error(String(error))
}

/** If all addresses of one host name failed, the error has no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
