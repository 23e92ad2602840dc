import { brand } from '../util/brand.ts'

const table = {
  storage_url:
    'the storage address {url} is not one of sqlite:FILE, sqlite::memory:, postgres://USER:PASSWORD@HOST/DATABASE',
  storage_in_use: 'another gateway already works on {path}{by}; stop it, or give this one a file of its own',
  storage_newer: '{path} was written by a newer version (schema {found}, this version knows {known}); use that version',
  storage_older:
    '{path} has the schema of an older version ({found}; this version needs {known}), and a gateway of that version may run on it. Nothing was changed. To upgrade, stop every older gateway, then run `tollgate storage migrate` or start `tollgate serve`; until then use the commands of the older version',
  storage_open:
    '{path} has the schema of an older version, and another process has the file open, such as a command of that version. Nothing was changed. Wait for that process or stop it, then start again',
  storage_unavailable: 'the storage cannot be written: {reason}',
  storage_busy: 'others were in the way each time that it was tried: {reason}',
  storage_closed: 'the storage is closed',
  storage_not_a_file:
    'the storage is no file of SQLite. A database of PostgreSQL is copied by its own tools: pg_dump --format=custom, pg_restore; for points in time, archive its write-ahead log',
  file_exists: '{path} is there already; name a file that is not',
  backup_unsound: '{path} cannot be restored: {reason}',
  copy_in_use:
    'a gateway works on {path}: stop it first, or ask for a copy of one moment (--snapshot), which misses what is charged from then on',
  copy_taken: '{path} is not empty ({reason}): name one that is',
  copy_older: '{path} has the schema of an older version: stop its gateway and run `tollgate storage migrate` first',
  copy_unfinished:
    'a copy into {path} is under way, or was broken off and left nothing: wait for it, or run `tollgate storage copy` again',
  copy_outdated: '{path} was written to while it was copied, and nothing was kept of the copy: copy it again',
  copy_unsound: 'nothing was kept of the copy: {reason}',
  name_unprintable: 'the name {name} has line breaks or other characters that are not shown: leave them out',
  user_exists: 'there is a user named {name} already',
  last_admin: '{name} is the last administrator who can sign in: make another one first',
  name_erased: 'somebody called {name} was erased, and the ledger has charges under that name still: take another one',
  erases_self: '{name} cannot erase themselves: another administrator can, or the command line',
  erases_local: 'local is nobody: keys are made for it that nobody else has. Revoke those (tollgate keys revoke)',
  erase_busy:
    '{name} has {count} requests or jobs that have not ended, and nothing was erased yet. The user is disabled and the keys are revoked, so that none begins: erase again when these have ended. What a gateway left that is gone is ended by the next one that runs',
  user_unknown: 'there is no user named {name}; create it first',
} as const

export type StorageErrorCode = keyof typeof table

/** A refusal of the storage; `code` is a row of the table and is never renamed. */
export class StorageError extends Error {
  readonly code: StorageErrorCode
  /** The names in its text. */
  readonly params: { readonly [name: string]: string | number }

  static {
    brand(this, 'StorageError')
  }

  constructor(code: StorageErrorCode, params: { readonly [name: string]: string | number } = {}) {
    super(table[code].replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(params[name] ?? whole)))
    this.name = 'StorageError'
    this.code = code
    this.params = params
  }
}
