import { accessSync, constants, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Result codes of SQLite about the file or the disk, not about the statement: https://sqlite.org/rescode.html */
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

/** Why the storage cannot be written at all; undefined if the error belongs to one operation. */
export function storageFailure(error: unknown): string | undefined {
  const code = codeOf(error)
  const reason = code === undefined ? undefined : storageCodes.get(code)
  return reason === undefined ? undefined : `${reason} (${(error as Error).message})`
}

export function isBusy(error: unknown): boolean {
  return codeOf(error) === 5
}

/** A statement that does not fit the tables: something already exists, or does not exist. */
export function isUnlike(error: unknown): boolean {
  return codeOf(error) === 1
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === 13
}

/** Why a file cannot be opened, by the system's error code or SQLite's number, and the remedy. */
const openingFaults = {
  mayNot: ['this user may not write there', 'give it the right to'],
  readOnly: ['it lies on a file system that can only be read', 'mount that one for writing'],
  full: ['the disk is full', 'make room on it'],
  folder: ['it is a folder', 'name a file in it'],
  underFile: ['a part of its path is a file', 'name a file in a folder'],
  foreign: ['it is a file of something else', 'leave that one where it is'],
  damaged: ['the database is damaged', 'put a backup in its place (tollgate restore)'],
} as const

const bySystem: { readonly [code: string]: keyof typeof openingFaults } = {
  EACCES: 'mayNot',
  EPERM: 'mayNot',
  EROFS: 'readOnly',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EISDIR: 'folder',
  ENOTDIR: 'underFile',
  EEXIST: 'underFile',
}

const bySqlite: { readonly [code: number]: keyof typeof openingFaults } = {
  8: 'mayNot',
  11: 'damaged',
  13: 'full',
  26: 'foreign',
}

const otherStorage = 'or use another location: storage in the configuration (the shipped one reads TOLLGATE_STORAGE)'

/**
 * Why a database cannot be opened, as a message with the file, the fault and the remedy. Undefined for errors that do
 * not come from the file or the disk. `other` is the remedy that names another file.
 */
export function openingFailure(error: unknown, path: string, other = otherStorage): string | undefined {
  return explainOpening(error, path, other)?.join('; ')
}

/** The same in two parts: the file with its fault, and the remedy if there is one. */
export function explainOpening(
  error: unknown,
  path: string,
  other = otherStorage,
): readonly [fault: string, remedy?: string] | undefined {
  const kind = kindOf(error, path)
  if (kind !== undefined) {
    const [fault, remedy] = openingFaults[kind]
    return [`${resolve(path)}: ${fault}`, `${remedy}, ${other}`]
  }
  const reason = storageFailure(error)
  return reason === undefined ? undefined : [`${resolve(path)}: ${reason}`]
}

function kindOf(error: unknown, path: string): keyof typeof openingFaults | undefined {
  const code = codeOf(error)
  // SQLite does not report why a file cannot be opened; the system does.
  if (code === 14) return whyNot(path)
  if (code !== undefined) return bySqlite[code]
  return bySystem[(error as NodeJS.ErrnoException | null)?.code ?? '']
}

function whyNot(path: string): keyof typeof openingFaults | undefined {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return 'folder'
    accessSync(dirname(path), constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return bySystem[(error as NodeJS.ErrnoException).code ?? '']
  }
}
