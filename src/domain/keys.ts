import type { Awaitable } from '../util/awaitable.ts'
import type { BudgetPeriod } from './budget-period.ts'
import type { Budget } from './budget.ts'
import type { KeyRefusal } from './check-key-bounds.ts'
import type { Key, KeySettings } from './shapes/key.ts'
import type { User } from './shapes/user.ts'
import type { Micros } from '../util/units.ts'

export type NewKey = Pick<KeySettings, 'name' | 'group'> &
  Partial<KeySettings> & {
    readonly user: string
    /** Hex SHA-256 of the secret. */
    readonly hash: string
    readonly hint: string
    readonly kind?: Key['kind']
  }

/**
 * Users of another gateway with their remaining prepaid money (null without payments), their budgets and their keys.
 * `spentBefore`: for a daily or monthly budget, the amount spent there in the current period.
 */
export type Adoption = {
  readonly users: readonly (Pick<User, 'name' | 'group' | 'status'> & {
    readonly balance: Micros | null
    readonly budget?: Budget
    readonly spentBefore?: Micros
    /** The hash of a key is of the secret as its clients send it. */
    readonly keys: readonly (Omit<NewKey, 'user'> & {
      readonly status: 'active' | 'disabled'
      readonly spentBefore?: Micros
    })[]
  })[]
  /** Groups with these budgets. */
  readonly groups?: readonly { readonly name: string; readonly per: BudgetPeriod; readonly spentBefore: Micros }[]
}

/** The number of new users, and users whose names already belong to another person; their keys were not imported. */
export type Adopted = {
  readonly users: number
  readonly keys: number
  readonly others: readonly string[]
  /** The number of budgets that count earlier spending. */
  readonly opened: number
}

export type KeyChange = Partial<KeySettings> & { readonly status?: 'active' | 'disabled' }

/** The refusal of a key holder's change, because it exceeds a bound. */
export type Refused = { readonly refused: KeyRefusal }

/** The result of a put by name. `shared`: several keys of the user have the name, and none was changed. */
export type PutKey = { readonly kind: 'created' | 'changed'; readonly key: Key } | { readonly kind: 'shared' }

export type Rotation = {
  /** The hash of the new secret. */
  readonly hash: string
  readonly hint: string
  /** The time in milliseconds for which the old secret is still accepted. */
  readonly overlapMs: number
}

/** A selection of keys: some of a million, because a list of all of them would take gigabytes of memory. */
export type KeyFilter = {
  readonly user?: string
  /** A part of the name, case-insensitive. */
  readonly search?: string
  readonly limit?: number
  /** The id of the last key of the previous page. */
  readonly before?: string
  /** Includes keys of sessions. */
  readonly sessions?: boolean
  /** Only keys with a budget or a group of their own. */
  readonly ownRules?: true
} & ({ readonly limit: number } | { readonly user: string } | { readonly ownRules: true })

/** The number of keys of all users or of one, and their sums. */
export type KeyTotals = {
  readonly keys: number
  readonly active: number
  readonly spent: Micros
  readonly held: Micros
}

/** The members of a group: users, active users, and active keys. The group of a key is its own, or that of its user. */
export type GroupMembers = {
  readonly group: string
  readonly users: number
  readonly activeUsers: number
  readonly keys: number
}

/** The total amount that the keys of a user have spent, and the time of their last use; null if none was used. */
export type KeyUse = { readonly user: string; readonly lastUsedAt: number | null; readonly spent: Micros }

/** The changed keys by id, and users whose keys all changed. */
export type KeyChanges = { readonly keys: ReadonlySet<string>; readonly users: ReadonlySet<string> }

/** Stores keys. Every change names its actor and writes a row of the audit log in the same transaction. */
export type KeyStore = {
  /**
   * The key with this secret, current or before the last rotation; for an old secret, `expiresAt` is the end of its
   * validity.
   */
  findByHash(hash: string): Awaitable<Key | undefined>
  find(id: string): Awaitable<Key | undefined>
  /** Creates a key for an administrator, whose settings become bounds for the key's holder. */
  create(key: NewKey, by?: string): Awaitable<Key>
  /** Imports users and keys of another gateway in one step. Existing ones are not changed. */
  adopt(adoption: Adoption, by: string): Awaitable<Adopted>
  /** Whether any keys were imported. If so, a valid secret may have a format that this gateway does not generate. */
  hasForeign(): Awaitable<boolean>
  /**
   * Creates the key of this name and user, or changes its settings, for an administrator. Settings that are not given
   * are unset. The status does not change if it is null. The hash and the hint are used only for a new key.
   * @throws StorageError `user_unknown`
   */
  put(key: NewKey, status: 'active' | 'disabled' | null, by: string): Awaitable<PutKey>
  /** A user's keys with this name, without revoked ones. */
  named(user: string, name: string): Awaitable<readonly Key[]>
  /** Undefined if there is no such key or it was revoked. */
  change(id: string, change: KeyChange, by: string): Awaitable<Key | undefined>
  /**
   * The same two operations for the key's holder, within the bounds of administrators. Settings that are not given for
   * a new key get the maximum. `keysMax`: the group's maximum number of keys, for users without a setting.
   */
  createOwn(key: NewKey, by: string, keysMax?: number): Awaitable<Key | Refused>
  changeOwn(id: string, change: KeyChange, by: string): Awaitable<Key | Refused | undefined>
  /** Gives the key a new secret; the old one is accepted for a while longer. Undefined as with `change`. */
  rotate(id: string, rotation: Rotation, by: string): Awaitable<Key | undefined>
  /** By id. False if there is no such key, or it was already revoked. */
  revoke(id: string, by?: string): Awaitable<boolean>
  /** Newest first; all of them unless a limit is given. */
  list(filter: KeyFilter): Awaitable<readonly Key[]>
  count(): Awaitable<number>
  /** Usage of the keys of some users, by user. */
  uses(users: readonly string[]): Awaitable<readonly KeyUse[]>
  totals(user?: string): Awaitable<KeyTotals>
  members(): Awaitable<readonly GroupMembers[]>
  /**
   * A version number that changes when any process changes a key or user, so that cached copies are invalid. New keys
   * and users do not change it.
   */
  revision(): Awaitable<number>
  /** The changes since the given version number; undefined if they are unknown, and anything may have changed. */
  changesSince(revision: number): Awaitable<KeyChanges | undefined>
  /**
   * A count that increases immediately with each such change in this process: a key revoked here is refused from its
   * next request.
   */
  ownChanges(): number
  /** The changes in this process since the given count; undefined as with `changesSince`. */
  ownChangesSince(count: number): KeyChanges | undefined
}
