import { brand } from '../util/brand.ts'

const table = {
  storage_url:
    'the storage address {url} is not one of sqlite:FILE, sqlite::memory:, postgres://USER:PASSWORD@HOST/DATABASE',
  storage_in_use: 'another gateway already works on {path}{by}; stop it, or use a different file',
  storage_newer: '{path} was written by a newer version (schema {found}, this version knows {known}); use that version',
  storage_older:
    '{path} has the schema of an older version ({found}; this version needs {known}), and a gateway of that version may run on it. Nothing was changed. To upgrade, stop every older gateway, then run `tollgate storage migrate` or start `tollgate serve`; until then use the commands of the older version',
  storage_open:
    '{path} has the schema of an older version, and another process has the file open, such as a command of that version. Nothing was changed. Wait for that process or stop it, then start again',
  storage_unlike:
    '{path} cannot be migrated from schema {found}: {reason}. Nothing was changed. A version outside the main line may have written it, with another schema under that number: run that version, or restore a backup of one of the main line',
  storage_unavailable: 'the storage cannot be written: {reason}',
  storage_busy: 'every attempt failed because of lock conflicts: {reason}',
  storage_closed: 'the storage is closed',
  charges_unwritten:
    'the storage closed before {count} charges were written; each of them is in the log, as "a charge is not known to be written"',
  storage_not_a_file:
    'the storage is not a SQLite file. For PostgreSQL use pg_dump --format=custom and pg_restore; for point-in-time recovery, archive its write-ahead log',
  file_exists: '{path} already exists; choose a new file name',
  backup_unsound: '{path} cannot be restored: {reason}',
  copy_in_use: 'a gateway uses {path}: stop it first, or use --snapshot, which does not include later charges',
  copy_taken: '{path} is not empty ({reason}): choose an empty storage',
  copy_older: '{path} has the schema of an older version: stop its gateway and run `tollgate storage migrate` first',
  copy_unfinished: 'a copy to {path} is running, or was interrupted: wait for it, or run `tollgate storage copy` again',
  copy_outdated: '{path} changed during the copy, which was discarded: copy it again',
  copy_unsound: 'the copy was discarded: {reason}',
  name_unprintable: 'the name {name} has line breaks or other invisible characters: remove them',
  user_exists: 'the user {name} already exists',
  token_exists: 'an admin token named {name} already exists: revoke it first, or choose another name',
  last_admin: '{name} is the last administrator who can sign in: create another one first',
  name_alike: 'the name could be taken for {name}: choose another one',
  name_erased: 'a user named {name} was erased, and the ledger still has charges under that name: choose another name',
  erases_self: '{name} cannot erase themselves: use another administrator or the command line',
  erases_local:
    "'local' is not a person: it owns the keys without another owner. Revoke those keys instead (tollgate keys revoke)",
  erase_busy:
    '{name} has {count} requests or jobs that are still running, so nothing was erased yet. The user is disabled and the keys are revoked: erase again when these have ended. Requests of a stopped gateway are ended by the next one that runs',
  balance_full: 'the balance of {name} may grow by at most {left}: larger amounts cannot be counted exactly',
  user_unknown: 'the user {name} does not exist; create it first',
} as const

export type StorageErrorCode = keyof typeof table

/** A refusal of the storage; `code` is a row of the table and is never renamed. */
export class StorageError extends Error {
  readonly code: StorageErrorCode
  /** The names in the message. */
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
