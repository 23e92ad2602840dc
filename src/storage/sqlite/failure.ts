/** Result codes of SQLite that speak of the file or the disk, not of the statement: https://sqlite.org/rescode.html */
const storageCodes = new Map([
  [5, 'another process keeps the database locked'],
  [6, 'the database is locked'],
  [7, 'out of memory'],
  [8, 'the database is read-only'],
  [10, 'the disk gives an error'],
  [11, 'the database is damaged'],
  [13, 'the disk is full'],
  [14, 'the database cannot be opened'],
  [26, 'the file is not a database'],
])

function codeOf(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode
  // The low byte is the primary code.
  return typeof code === 'number' ? code & 0xff : undefined
}

/** Why the storage cannot be written at all; undefined when the error is one operation's own. */
export function storageFailure(error: unknown): string | undefined {
  const code = codeOf(error)
  const reason = code === undefined ? undefined : storageCodes.get(code)
  return reason === undefined ? undefined : `${reason} (${(error as Error).message})`
}

export function isBusy(error: unknown): boolean {
  return codeOf(error) === 5
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === 13
}
