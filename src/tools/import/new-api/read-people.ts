import type { Adoption } from '../../../domain/index.ts'
import { hashSecret, hintOfSecret, parseAddressRange } from '../../../util/index.ts'
import type { TrackedRow, TrackedTable } from './foreign-book.ts'
import { wordsOf } from './read-channels.ts'

type AdoptedUser = Adoption['users'][number]
type AdoptedKey = AdoptedUser['keys'][number]
type Owner = { readonly id: string; readonly name: string; readonly group: string }

export type People = {
  readonly adoption: Adoption
  /**
   * The balances of all users that are not deleted: in quota of the source, and in micro-units here. Debts are reported
   * separately.
   */
  readonly sums: { readonly quota: bigint; readonly micros: bigint }
}

/** The maximum amount of a budget. */
const moneyMax = 999_999_999_999_999n

/** The end of the year 9999. */
const momentMax = 253_402_300_799_000

type Around = {
  /** The quota of one USD. */
  readonly quotaPerUnit: bigint
  /** The models that each group could use in the source; undefined for a group that could use all. */
  readonly usable: (group: string) => readonly string[] | undefined
  readonly groups: ReadonlySet<string>
  readonly refusedGroup: (ofUser: string, group: string) => string | undefined
  readonly note: (text: string) => void
}

/** Converts users with their balances, and tokens to keys that clients can continue to use. */
export function readPeople(users: TrackedTable, tokens: TrackedTable, around: Around): People {
  const { note } = around
  const keys = readKeys(tokens)
  const adopted: AdoptedUser[] = []
  const names = new Set<string>()
  const sums = { quota: 0n, micros: 0n }
  let deleted = 0
  const admins: string[] = []
  for (const row of users.rows) {
    if (row.text('deleted_at') !== undefined) {
      deleted++
      continue
    }
    const owner = { id: row.text('id') ?? '', name: row.text('username') ?? '', group: row.text('group') ?? 'default' }
    if (isUnreadable(row, 'quota'))
      note(`user ${owner.name}: the quota ${row.text('quota')} is not a whole number; the balance here starts at 0`)
    const quota = row.whole('quota') ?? 0n
    sums.quota += quota > 0n ? quota : 0n
    const isTaken = names.has(owner.name)
    if (isTaken || !isUserName(owner.name) || !around.groups.has(owner.group)) {
      const why = isTaken ? 'another user has its name' : 'its name or its group is not valid here'
      note(`user ${owner.id}: not imported: ${why}`)
      continue
    }
    names.add(owner.name)
    if (Number(row.text('role') ?? '1') >= 10) admins.push(owner.name)
    const own = keys.of(owner.id)
    const balance = balanceOf(owner.name, quota, around)
    sums.micros += BigInt(balance)
    adopted.push({
      name: owner.name,
      group: owner.group,
      status: (row.text('status') ?? '1') === '1' ? 'active' : 'disabled',
      balance,
      keys: own.map(token => readKey(token.row, token.key, owner, around)),
    })
  }
  if (deleted > 0) note(`${deleted} users are deleted in the source, and are not imported`)
  if (keys.deleted > 0) note(`${keys.deleted} tokens are deleted in the source, and are not imported`)
  if (keys.left() > 0) note(`${keys.left()} tokens have no imported user, and are left out`)
  if (admins.length > 0)
    note(
      `${admins.join(', ')}: administrators in the source, imported as users; restore the role with tollgate users set NAME --role admin`,
    )
  return { adoption: { users: adopted }, sums }
}

function balanceOf(name: string, quota: bigint, { quotaPerUnit, note }: Around): number {
  const micros = microsOf(quota, quotaPerUnit)
  if (micros === undefined) note(`user ${name}: a balance of ${quota} quota exceeds the maximum, and is reduced to it`)
  else if (quota < 0n) note(`user ${name}: owes ${-quota} quota in the source; the balance here starts at 0`)
  return micros ?? Number(moneyMax)
}

function isUserName(name: string): boolean {
  return name !== '' && name.length <= 200 && !/\p{Cc}/u.test(name)
}

/**
 * The amount in micro-units, exact where possible; smaller fractions are dropped. Undefined if it is above the maximum.
 */
function microsOf(quota: bigint, quotaPerUnit: bigint): number | undefined {
  if (quota <= 0n) return 0
  const micros = (quota * 1_000_000n) / quotaPerUnit
  return micros > moneyMax ? undefined : Number(micros)
}

/** Tokens that are not deleted, by their users; `left` counts the tokens of users that were not imported. */
function readKeys(tokens: TrackedTable) {
  const byUser = new Map<string, { readonly row: TrackedRow; readonly key: string }[]>()
  let [deleted, left] = [0, 0]
  for (const row of tokens.rows) {
    const key = row.text('key')
    const user = row.text('user_id') ?? ''
    if (row.text('deleted_at') !== undefined || key === undefined) deleted++
    else {
      left++
      const own = byUser.get(user) ?? []
      own.push({ row, key })
      byUser.set(user, own)
    }
  }
  return {
    deleted,
    left: () => left,
    of(user: string) {
      const own = byUser.get(user) ?? []
      left -= own.length
      return own
    },
  }
}

function readKey(row: TrackedRow, key: string, owner: Owner, around: Around): AdoptedKey {
  const { note, quotaPerUnit, usable } = around
  const place = `token ${row.text('id')} of ${owner.name}`
  const why: string[] = []
  const secret = key.startsWith('sk-') ? key : `sk-${key}`
  const group = groupOf(row, owner.group, { ...around, place, why })
  const status = row.text('status') ?? '1'
  if (status !== '1') why.push(`its status is ${status} in the source`)
  const models = modelsOf(row, usable(group))
  if (models?.length === 0) why.push('it may use no existing model')
  const { ips, unread } = addressesOf(row)
  if (unread.length > 0) note(`${place}: addresses that cannot be read are left out: ${unread.join(', ')}`)
  if (ips?.length === 0) why.push('none of its addresses can be read')
  for (const column of ['expired_time', 'remain_quota'])
    if (isUnreadable(row, column)) why.push(`its ${column} is not a whole number`)
  const expires = row.whole('expired_time') ?? -1n
  const isUnlimited = row.truth('unlimited_quota')
  const budget = isUnlimited ? null : microsOf(row.whole('remain_quota') ?? 0n, quotaPerUnit)
  if (budget === undefined) note(`${place}: its quota exceeds the maximum budget, and is reduced to it`)
  if (why.length > 0) note(`${place}: imported disabled: ${why.join('; ')}`)
  return {
    name: nameOf(row, place),
    group: group === owner.group ? null : group,
    hash: hashSecret(secret),
    hint: hintOfSecret(secret),
    status: why.length > 0 ? 'disabled' : 'active',
    // -1 means never; 0 has expired in the source, too.
    expiresAt: expires === -1n ? null : Math.min(Math.max(Number(expires), 0) * 1_000, momentMax),
    // An empty list admits nothing, even after the key is enabled.
    models: models ?? null,
    ips: ips ?? null,
    budget: budget === undefined ? Number(moneyMax) : budget,
    budgetPeriod: 'total',
  }
}

function isUnreadable(row: TrackedRow, column: string): boolean {
  return row.text(column) !== undefined && row.whole(column) === undefined
}

function nameOf(row: TrackedRow, place: string): string {
  const name = (row.text('name') ?? '')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 100)
  return name === '' ? place : name
}

type GroupAround = Pick<Around, 'groups' | 'refusedGroup' | 'note'> & { readonly place: string; readonly why: string[] }

function groupOf(row: TrackedRow, ofUser: string, around: GroupAround): string {
  const { groups, note, place, why } = around
  const own = row.text('group')
  if (own === undefined) return ofUser
  const refused = own === 'auto' || own === ofUser ? undefined : around.refusedGroup(ofUser, own)
  if (refused !== undefined) why.push(refused)
  if (groups.has(own)) return own
  if (own === 'auto') note(`${place}: its group was chosen for each request; it gets its user's group, ${ofUser}`)
  else why.push(`its group ${own} does not exist here`)
  return ofUser
}

/** The models that a token may use: those of its group, limited to its own list if it has one. Undefined for all. */
function modelsOf(row: TrackedRow, usable: readonly string[] | undefined): readonly string[] | undefined {
  // One-api has no such switch: `models` always applies.
  const isBound = row.truth('model_limits_enabled') || row.text('models') !== undefined
  if (!isBound) return usable
  const own = wordsOf(row.text('models') ?? row.text('model_limits'))
  return usable === undefined ? own : own.filter(name => usable.includes(name))
}

/** Undefined for all addresses; empty if the setting admits no address. */
function addressesOf(row: TrackedRow): {
  readonly ips: readonly string[] | undefined
  readonly unread: readonly string[]
} {
  const text = row.text('allow_ips') ?? row.text('subnet')
  const all = [...new Set(text?.split(/[\s,]+/))].filter(one => one !== '')
  const isRange = (one: string): boolean => parseAddressRange(one) !== undefined
  return { ips: text === undefined ? undefined : all.filter(isRange), unread: all.filter(one => !isRange(one)) }
}
