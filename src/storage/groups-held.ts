import type { GroupHeld } from './options.ts'

/** Groups that have active users or keys, with the number of each. */
export const groupsHeldSql = `SELECT group_name, SUM(users) AS users, SUM(keys) AS keys FROM (
    SELECT group_name, 1 AS users, 0 AS keys FROM "user" WHERE status = 'active'
    UNION ALL SELECT group_name, 0, 1 FROM key WHERE status = 'active' AND group_name IS NOT NULL
  ) AS held GROUP BY group_name ORDER BY group_name`

export function toGroupHeld(row: { readonly [column: string]: unknown }): GroupHeld {
  return { name: String(row['group_name']), users: Number(row['users']), keys: Number(row['keys']) }
}
