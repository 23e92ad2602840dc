import { type Awaitable, budgetUsed, formatMoney, type Key, type Limits, type Plan, type User } from '../kit/index.ts'

/** ISO 8601, UTC; null for null. */
export function toMoment(ms: number): string
export function toMoment(ms: number | null): string | null
export function toMoment(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

export function userRecord({ name, role, group, status, hasPassword, createdAt }: User) {
  return { name, role, group, status, has_password: hasPassword, created: toMoment(createdAt) }
}

/** A key as the console shows it. Its secret and the hash of it are nowhere in here. */
export function keyRecord(key: Key, plan: Plan, now: number) {
  const group = key.group ?? key.userGroup
  return {
    id: key.id,
    name: key.name,
    user: key.user,
    group,
    own_group: key.group,
    hint: key.hint,
    status: key.status,
    expires: toMoment(key.expiresAt),
    old_secret_until: toMoment(key.oldUntil !== null && key.oldUntil > now ? key.oldUntil : null),
    models: key.models,
    ips: key.ips,
    limits: limitsRecord(key.limits),
    group_limits: limitsRecord(plan.groups.get(group)?.limits ?? {}),
    budget: key.budget === null ? null : formatMoney(key.budget),
    budget_period: key.budgetPeriod,
    budget_used: formatMoney(budgetUsed(key, now)),
    spent: formatMoney(key.spent),
    held: formatMoney(key.held),
    currency: plan.currency,
    created: toMoment(key.createdAt),
    last_used: toMoment(key.lastUsedAt),
  }
}

export function limitsRecord({ rpm, tpm, concurrency }: Limits) {
  return {
    ...(rpm !== undefined && { rpm }),
    ...(tpm !== undefined && { tpm }),
    ...(concurrency !== undefined && { concurrency }),
  }
}

/** One page of rows and where the next begins: one row more than the page was read to know whether there is one. */
export async function pageOf<Row>(
  limit: number,
  idOf: (row: Row) => string,
  read: (limit: number) => Awaitable<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly next: string | null }> {
  const rows = await read(limit + 1)
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, next: rows.length > limit && last !== undefined ? idOf(last) : null }
}
