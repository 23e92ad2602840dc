import type { Awaitable } from '../util/awaitable.ts'
import type { BudgetPeriod } from './budget-period.ts'
import type { Budget } from './budget.ts'
import type { KeyRefusal } from './judge-key.ts'
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
 * Users of another gateway, what they have left of what they paid (null where there are no payments), what they may spend, and their
 * keys. `spentBefore`: of a budget for a day or a month, what was spent of it there in the time that is running.
 */
export type Adoption = {
  readonly users: readonly (Pick<User, 'name' | 'group' | 'status'> & {
    readonly balance: Micros | null
    readonly budget?: Budget
    readonly spentBefore?: Micros
    /** A key's hash is of the secret as its clients send it. */
    readonly keys: readonly (Omit<NewKey, 'user'> & {
      readonly status: 'active' | 'disabled'
      readonly spentBefore?: Micros
    })[]
  })[]
  /** Groups with such budgets. */
  readonly groups?: readonly { readonly name: string; readonly per: BudgetPeriod; readonly spentBefore: Micros }[]
}

/** How many of them are new here; and users whose names another person has here, whose keys were left. */
export type Adopted = {
  readonly users: number
  readonly keys: number
  readonly others: readonly string[]
  /** How many budgets count what was spent of them before. */
  readonly opened: number
}

export type KeyChange = Partial<KeySettings> & { readonly status?: 'active' | 'disabled' }

/** What a key holder was refused: another person has set the bound. */
export type Refused = { readonly refused: KeyRefusal }

/** What became of a key that was put by its name; `shared`: several keys of the user have the name, and none was changed. */
export type PutKey = { readonly kind: 'created' | 'changed'; readonly key: Key } | { readonly kind: 'shared' }

export type Rotation = {
  /** Of the new secret. */
  readonly hash: string
  readonly hint: string
  /** Milliseconds for which the old secret is accepted next to the new one. */
  readonly overlapMs: number
}

export type KeyFilter = {
  readonly user?: string
  /** A part of the name, in any case. */
  readonly search?: string
  readonly limit?: number
  /** The id of the last key of the page before. */
  readonly before?: string
  /** Those of sessions too. */
  readonly sessions?: boolean
}

/** What the keys of a user have spent together, and when one of them was last used; null if none was. */
export type KeyUse = { readonly user: string; readonly lastUsedAt: number | null; readonly spent: Micros }

/** What was changed: keys by their ids, and all keys of users. */
export type KeyChanges = { readonly keys: ReadonlySet<string>; readonly users: ReadonlySet<string> }

/** Every change names who makes it, and leaves a row in the trail in the same transaction. */
export type KeyStore = {
  /** The key whose secret this is, or was before its last rotation: then `expiresAt` is when that one ends. */
  findByHash(hash: string): Awaitable<Key | undefined>
  find(id: string): Awaitable<Key | undefined>
  /** By an administrator: what is set of it is how far its holder may go. */
  create(key: NewKey, by?: string): Awaitable<Key>
  /** Takes over users and keys of another gateway, in one step; those that are here already stay as they are. */
  adopt(adoption: Adoption, by: string): Awaitable<Adopted>
  /** Whether any were taken over: then keys are good that this gateway cannot have made. */
  hasForeign(): Awaitable<boolean>
  /**
   * By an administrator: creates the key of this name and user, or gives it these settings; one that is not given becomes
   * unset. The status stays if it is null. The hash and the hint are of a new key only.
   * @throws StorageError `user_unknown`
   */
  put(key: NewKey, status: 'active' | 'disabled' | null, by: string): Awaitable<PutKey>
  /** Those of a user by their name, without revoked ones. */
  named(user: string, name: string): Awaitable<readonly Key[]>
  /** Undefined when there is no such key or it was revoked. */
  change(id: string, change: KeyChange, by: string): Awaitable<Key | undefined>
  /**
   * The same two by the holder of the key: within what administrators have set. What is not set of a new key is the
   * maximum; `keysMax` is how many keys the group allows, where the user has no setting.
   */
  createOwn(key: NewKey, by: string, keysMax?: number): Awaitable<Key | Refused>
  changeOwn(id: string, change: KeyChange, by: string): Awaitable<Key | Refused | undefined>
  /** Gives the key a new secret; the old one is taken for a while longer. Undefined as with `change`. */
  rotate(id: string, rotation: Rotation, by: string): Awaitable<Key | undefined>
  /** By id. False when there is no such key, or it was revoked before. */
  revoke(id: string, by?: string): Awaitable<boolean>
  /** Newest first; all of them unless a limit is given. */
  list(filter?: KeyFilter): Awaitable<readonly Key[]>
  count(): Awaitable<number>
  /** By user, what all their keys were used for. */
  uses(): Awaitable<readonly KeyUse[]>
  /** A number that moves when a key or user is changed, by any process: copies of it are no good then. New ones move nothing. */
  revision(): Awaitable<number>
  /** What has changed since the number was so; undefined where that is not known, and all may have. */
  changesSince(revision: number): Awaitable<KeyChanges | undefined>
  /** Moves at once with every such change that this process makes: a key revoked here is refused at its next request. */
  ownChanges(): number
  /** What this process has changed since it had made so many changes; undefined as with `changesSince`. */
  ownChangesSince(count: number): KeyChanges | undefined
}
