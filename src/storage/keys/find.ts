import type { GroupMembers, Key, KeyChanges, KeyTotals, KeyUse } from '../../domain/index.ts'
import { keyMembers } from '../../domain/shapes/key.ts'
import { columnsOf } from '../../domain/shapes/member.ts'
import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, textOrNull, toKey, whole, wholeOrNull } from '../rows.ts'

/** Columns of a key with those of its user; `toKey` reads them. */
const keyColumns = [...columnsOf(keyMembers), 'day_start', 'day_spent', 'month_start', 'month_spent']
  .map(column => `k.${column}`)
  .join(', ')
/** The spending of a key on past days, if its budget needs them. */
export const daysOf = (key: string): string =>
  `CASE WHEN ${key}.budget_period IN ('total', 'day', 'month') THEN NULL ELSE (SELECT string_agg(s.start || ':' || s.spent, ' ')
    FROM spell s WHERE s.key_id = ${key}.id AND s.period = 'day') END`
const keyQuery = `SELECT ${keyColumns}, ${daysOf('k')} AS days, u.group_name AS user_group, u.status AS user_status, u.budget AS user_budget,
  u.budget_period AS user_budget_period, u.budget_soft AS user_budget_soft, u.balance AS user_balance FROM key k JOIN "user" u ON u.name = k.user_name`
const byHash = `${keyQuery} WHERE k.hash = ?`
const byOldHash = `${keyQuery} WHERE k.old_hash = ?`
const byId = `${keyQuery} WHERE k.id = ?`

/** Finds a key by the hash of its secret; the secret from before the last rotation expires earlier. */
export function* findKeyByHash(hash: string): QueryProgram<Key | undefined> {
  const [row] = yield ask(byHash, hash)
  if (row) return toKey(row)
  const [old] = yield ask(byOldHash, hash)
  if (!old) return undefined
  const key = toKey(old)
  return { ...key, expiresAt: Math.min(key.expiresAt ?? Infinity, key.oldUntil ?? 0) }
}

export function* readKey(id: string): QueryProgram<Key | undefined> {
  const [row] = yield ask(byId, id)
  return row && toKey(row)
}

/** The last use and the total spending of the keys of some users; users without keys are left out. */
export function* sumKeyUses(users: readonly string[]): QueryProgram<readonly KeyUse[]> {
  const rows = yield* selectIn(
    `SELECT user_name, max(last_used_at) AS last_used_at, sum(spent) AS spent FROM key
     WHERE user_name IN (…) GROUP BY user_name`,
    users,
  )
  return rows.map(row => ({
    user: text(row, 'user_name'),
    lastUsedAt: wholeOrNull(row, 'last_used_at'),
    spent: whole(row, 'spent'),
  }))
}

export function* countKeys(): QueryProgram<number> {
  const [row] = yield ask(`SELECT count(*) AS value FROM key WHERE kind = 'key'`)
  return row ? whole(row, 'value') : 0
}

/** Sums of the keys of all users, or of one. */
export function* sumKeys(user: string | null): QueryProgram<KeyTotals> {
  const [row = {}] = yield ask(
    `SELECT count(*) AS keys, coalesce(sum(CASE WHEN status = 'active' THEN 1 ELSE 0 END), 0) AS active,
       coalesce(sum(spent), 0) AS spent, coalesce(sum(held), 0) AS held
     FROM key WHERE kind = 'key'${user === null ? '' : ' AND user_name = ?'}`,
    ...(user === null ? [] : [user]),
  )
  return {
    keys: whole(row, 'keys'),
    active: whole(row, 'active'),
    spent: whole(row, 'spent'),
    held: whole(row, 'held'),
  }
}

/** The members of each group that has any. */
export function* countMembers(): QueryProgram<readonly GroupMembers[]> {
  const rows = yield ask(
    `SELECT group_name, sum(users) AS users, sum(active_users) AS active_users, sum(keys) AS keys FROM (
       SELECT group_name, count(*) AS users, sum(CASE WHEN status = 'active' THEN 1 ELSE 0 END) AS active_users, 0 AS keys
         FROM "user" WHERE erased_at IS NULL GROUP BY group_name
       UNION ALL
       SELECT coalesce(k.group_name, u.group_name), 0, 0, count(*) FROM key k JOIN "user" u ON u.name = k.user_name
         WHERE k.kind = 'key' AND k.status = 'active' GROUP BY coalesce(k.group_name, u.group_name)
     ) members GROUP BY group_name`,
  )
  return rows.map(row => ({
    group: text(row, 'group_name'),
    users: whole(row, 'users'),
    activeUsers: whole(row, 'active_users'),
    keys: whole(row, 'keys'),
  }))
}

export function* readKeyRevision(): QueryProgram<number> {
  const [row] = yield ask(`SELECT value FROM meta WHERE name = 'key_revision'`)
  return row ? whole(row, 'value') : 0
}

/** More changes than this count as a change of everything. */
const changesMax = 1_000

/**
 * The changes that moved the revision since it was `since`; undefined if one is no longer known, or there were very
 * many.
 */
export function* readKeyChanges(since: number): QueryProgram<KeyChanges | undefined> {
  const rows = yield ask(
    `SELECT value, key_id, user_name FROM meta LEFT JOIN key_change ON revision > ?
     WHERE name = 'key_revision' ORDER BY revision LIMIT ?`,
    since,
    changesMax,
  )
  const [first] = rows
  const keys = new Set<string>()
  const users = new Set<string>()
  let known = 0
  for (const row of rows) {
    const [key, user] = [textOrNull(row, 'key_id'), textOrNull(row, 'user_name')]
    if (key !== null) keys.add(key)
    if (user !== null) users.add(user)
    if (key !== null || user !== null) known++
  }
  const moved = first ? whole(first, 'value') - since : Number.NaN
  // A revision without a row has another cause, or its row was deleted.
  return moved === known && known < changesMax ? { keys, users } : undefined
}
