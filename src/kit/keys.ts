import type { Awaitable } from './awaitable.ts'
import type { Limits } from './model.ts'
import type { Micros } from './units.ts'

/** What a budget lasts for: all of a key's life, or each day or month of UTC. */
export type BudgetPeriod = 'total' | 'day' | 'month'

/** What was spent in the day or month that begins at `from`, milliseconds since the epoch. */
export type Spell = { readonly from: number; readonly spent: Micros }

export type Key = {
  readonly id: string
  readonly name: string
  readonly user: string
  /** `session`: made for a person at the console, and not shown among the keys. */
  readonly kind: 'key' | 'session'
  /** The key's own group, or null for the user's. */
  readonly group: string | null
  /** Of the user. */
  readonly userGroup: string
  /** A disabled user's keys are refused. */
  readonly userStatus: 'active' | 'disabled'
  /** First characters and last four of the secret, for people. */
  readonly hint: string
  readonly status: 'active' | 'disabled' | 'revoked'
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null
  /** Until when the secret before the last rotation is still taken; null when there is none. */
  readonly oldUntil: number | null
  /** Model names the key may use; null for all. */
  readonly models: readonly string[] | null
  /** Addresses the key may come from; null for all. */
  readonly ips: readonly string[] | null
  /** Its own, tighter limits. */
  readonly limits: Limits
  readonly budget: Micros | null
  readonly budgetPeriod: BudgetPeriod
  /** In all its life. */
  readonly spent: Micros
  /** In the last day and month in which anything was. */
  readonly spentIn: { readonly day: Spell; readonly month: Spell }
  readonly held: Micros
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

/** What may be changed of a key later. */
export type KeySettings = {
  readonly name: string
  readonly group: string | null
  readonly expiresAt: number | null
  readonly models: readonly string[] | null
  readonly ips: readonly string[] | null
  readonly limits: Limits
  readonly budget: Micros | null
  readonly budgetPeriod: BudgetPeriod
}

export type NewKey = Pick<KeySettings, 'name' | 'group'> &
  Partial<KeySettings> & {
    readonly user: string
    /** Hex SHA-256 of the secret. */
    readonly hash: string
    readonly hint: string
    readonly kind?: Key['kind']
  }

export type KeyChange = Partial<KeySettings> & { readonly status?: 'active' | 'disabled' }

export type Rotation = {
  /** Of the new secret. */
  readonly hash: string
  readonly hint: string
  /** Milliseconds for which the old secret is taken beside the new one. */
  readonly overlapMs: number
}

export type KeyFilter = {
  readonly user?: string
  readonly limit?: number
  /** The id of the last key of the page before. */
  readonly before?: string
  /** Those of sessions too. */
  readonly sessions?: boolean
}

/** Every change names who makes it, and leaves a row in the trail in the same transaction. */
export type KeyStore = {
  /** The key whose secret this is, or was before its last rotation: then `expiresAt` is when that one ends. */
  findByHash(hash: string): Awaitable<Key | undefined>
  find(id: string): Awaitable<Key | undefined>
  create(key: NewKey, by?: string): Awaitable<Key>
  /** Undefined when there is no such key or it was revoked. */
  change(id: string, change: KeyChange, by: string): Awaitable<Key | undefined>
  /** Gives the key a new secret; the old one is taken for a while longer. Undefined as with `change`. */
  rotate(id: string, rotation: Rotation, by: string): Awaitable<Key | undefined>
  /** By id. False when there is no such key, or it was revoked before. */
  revoke(id: string, by?: string): Awaitable<boolean>
  /** Newest first; all of them unless a limit is given. */
  list(filter?: KeyFilter): Awaitable<readonly Key[]>
  count(): Awaitable<number>
  /** A number that moves when a key or user is changed, by any process: caches are emptied then. New ones move nothing. */
  revision(): Awaitable<number>
  /** Moves at once with every such change that this process makes: a key revoked here is refused at its next request. */
  ownChanges(): number
}

/** The first millisecond of the day and of the month, UTC, in which `at` lies. */
export function spellsAt(at: number): { readonly day: number; readonly month: number } {
  const date = new Date(at)
  const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  return { day: Math.floor(at / 86_400_000) * 86_400_000, month }
}

/** What clocks of one fleet may differ by. A time further ahead was written by a clock that was wrong. */
export const aheadMs = 3_600_000

/** The last day and month that a clock may be in which is ahead of `at` and still right. */
export function spellsAhead(at: number): { readonly day: number; readonly month: number } {
  return spellsAt(at + aheadMs)
}

/** When a budget begins anew after `at`; null for one that is for all of a key's life. */
export function renewalAt(period: BudgetPeriod, at: number): number | null {
  if (period === 'total') return null
  if (period === 'day') return spellsAt(at).day + 86_400_000
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** What a key has spent of its budget: in all, or in the day or month in which `at` lies. */
export function budgetUsed(key: Key, at: number): Micros {
  if (key.budgetPeriod === 'total') return key.spent
  const { from, spent } = key.spentIn[key.budgetPeriod]
  const isNow = from >= spellsAt(at)[key.budgetPeriod] && from <= spellsAhead(at)[key.budgetPeriod]
  return isNow ? spent : 0
}
