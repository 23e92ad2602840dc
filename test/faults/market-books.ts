import type { Look } from './oracle.ts'

/** One line of a charge: what it counts, and its price. */
export type SoldLine = {
  readonly tier: string
  /** The price of the complete line in micro-units. */
  readonly price: number
  readonly quantity: number | null
  /** The size of a picture, if known: `1024x768`. */
  readonly mark: string | null
  /** Whether the quantity is an estimate. */
  readonly isEstimated: boolean
}

/** One charge, in a row or in a segment. */
export type Sale = {
  readonly id: string
  readonly key: string
  readonly user: string
  readonly group: string
  readonly state: string
  readonly amount: number
  /** The refunded amount. */
  readonly refunded: number
  /** Kinds of levels with its hold, next to its key. */
  readonly levels: readonly string[]
  /** The requested quality: the number of an order for pictures. */
  readonly quality: string | null
  readonly lines: readonly SoldLine[]
}

type Row = { readonly [column: string]: unknown }
type Payer = { readonly key_id: string; readonly user_name: string; readonly group_name: string }
type Terms = {
  readonly quality: string | null
  readonly lines: readonly (readonly [tier: string, source: string, flags: readonly string[]])[]
}

/** Every charge, by SQL and a segment reader of the test's own (docs/storage.md#charge-tables). */
export async function readSales(look: Look): Promise<readonly Sale[]> {
  const refunds = await look(
    `SELECT charge_id, sum(amount) AS amount FROM (SELECT charge_id, amount FROM entry WHERE kind = 'refund'
       UNION ALL SELECT charge_id, amount FROM reversal) refunds GROUP BY charge_id`,
  )
  const refunded = new Map(refunds.map(row => [String(row['charge_id']), Number(row['amount'])]))
  const lines = Map.groupBy(
    await look('SELECT charge_id, tier, price, quantity, width, height, flags FROM line ORDER BY charge_id, idx'),
    row => String(row['charge_id']),
  )
  const charges = await look('SELECT id, key_id, user_name, group_name, state, amount, levels, quality FROM charge')
  const apart = charges.map((row): Sale => {
    const id = String(row['id'])
    return {
      id,
      key: String(row['key_id']),
      user: String(row['user_name']),
      group: String(row['group_name']),
      state: String(row['state']),
      amount: Number(row['amount']),
      refunded: refunded.get(id) ?? 0,
      levels: textOf(row['levels'])?.split(' ') ?? [],
      quality: textOf(row['quality']),
      lines: (lines.get(id) ?? []).map(lineOf),
    }
  })
  const segments = await look('SELECT body FROM segment')
  return [...apart, ...segments.flatMap(({ body }) => readChargeBatch(String(body), refunded))]
}

function readChargeBatch(body: string, refunded: ReadonlyMap<string, number>): readonly Sale[] {
  const items = JSON.parse(body) as readonly unknown[]
  return items.flatMap((item): readonly Sale[] => {
    if (!Array.isArray(item)) return []
    const [id, payerAt, termsAt, , ...counted] = item as [string, number, number, number, ...number[]]
    const { key_id: key, user_name: user, group_name: group } = items[payerAt] as Payer
    const { quality, lines: storedLines } = items[termsAt] as Terms
    const lines = storedLines.map(([tier, , flags], at) => ({
      tier,
      price: counted[2 * at] as number,
      quantity: counted[2 * at + 1] as number,
      mark: null,
      isEstimated: flags.includes('estimated'),
    }))
    const amount = lines.reduce((sum, { price }) => sum + price, 0)
    return [
      {
        id,
        key,
        user,
        group,
        state: 'settled',
        amount,
        refunded: refunded.get(id) ?? 0,
        levels: [],
        quality,
        lines,
      },
    ]
  })
}

function lineOf(row: Row): SoldLine {
  return {
    tier: String(row['tier']),
    price: Number(row['price']),
    quantity: row['quantity'] === null ? null : Number(row['quantity']),
    mark: row['width'] === null ? null : `${Number(row['width'])}x${Number(row['height'])}`,
    isEstimated: String(row['flags']).includes('estimated'),
  }
}

function textOf(cell: unknown): string | null {
  return typeof cell === 'string' && cell !== '' ? cell : null
}

/** The spent and held amounts of an account, in micro-units. */
type Sums = { readonly spent: number; readonly day: number; readonly month: number; readonly held: number }
type Period = 'total' | 'day' | 'month'
/** A budget in micro-units. */
export type Bound = { readonly amount: number; readonly per: Period }
export type Group = { readonly budget?: Bound; readonly userBudget?: Bound }

/** All levels at one moment. */
export type Levels = {
  readonly keys: readonly (Sums & {
    readonly id: string
    readonly user: string
    readonly group: string
    readonly bound: Bound | undefined
    /** The holds of open charges. */
    readonly open: number
  })[]
  /** By `user NAME`, `group NAME` and `balance NAME`. */
  readonly accounts: ReadonlyMap<string, Sums>
  readonly users: ReadonlyMap<string, { readonly bound: Bound | undefined; readonly balance: number | undefined }>
}

/** PostgreSQL needs a type for a null. */
const none = 'CAST(null AS BIGINT)'

/** One statement, so that all reads are of one moment. */
export async function readLevels(look: Look): Promise<Levels> {
  const rows = await look(
    `SELECT 'key' AS kind, k.id AS name, k.user_name AS owner, coalesce(k.group_name, u.group_name) AS team, k.spent,
       k.day_spent AS day, k.month_spent AS month, k.held, k.budget, k.budget_period AS per, ${none} AS balance,
       (SELECT sum(c.hold) FROM charge c WHERE c.key_id = k.id AND (c.state = 'reserved' OR c.kept = 1)) AS opened
     FROM key k JOIN "user" u ON u.name = k.user_name
     UNION ALL SELECT kind, name, null, null, sum(spent), sum(day_spent), sum(month_spent), sum(held), ${none}, null, ${none}, ${none}
     FROM account GROUP BY kind, name
     UNION ALL SELECT 'owner', name, null, null, 0, 0, 0, 0, budget, budget_period, balance, ${none} FROM "user"`,
  )
  const boundOf = (row: Row): Bound | undefined =>
    row['budget'] === null ? undefined : { amount: Number(row['budget']), per: row['per'] as Period }
  const sumsOf = (row: Row): Sums => ({
    spent: Number(row['spent']),
    day: Number(row['day']),
    month: Number(row['month']),
    held: Number(row['held']),
  })
  const of = (kind: string): readonly Row[] => rows.filter(row => row['kind'] === kind)
  const accounts = ['user', 'group', 'balance'].flatMap(kind =>
    of(kind).map(row => [`${kind} ${String(row['name'])}`, sumsOf(row)] as const),
  )
  return {
    keys: of('key').map(row => ({
      ...sumsOf(row),
      id: String(row['name']),
      user: String(row['owner']),
      group: String(row['team']),
      bound: boundOf(row),
      open: Number(row['opened'] ?? 0),
    })),
    accounts: new Map(accounts),
    users: new Map(
      of('owner').map(row => {
        const balance = row['balance'] === null ? undefined : Number(row['balance'])
        return [String(row['name']), { bound: boundOf(row), balance }]
      }),
    ),
  }
}

const nothing: Sums = { spent: 0, day: 0, month: 0, held: 0 }

/**
 * The faults of the levels at any moment, including during requests: a level with more spent and held than its amount,
 * and sums of keys that differ from those of their users and groups. Nothing was spent before today.
 */
export function judgeLevels(levels: Levels, groups: ReadonlyMap<string, Group>): readonly string[] {
  const { keys, accounts, users } = levels
  const faults: string[] = []
  const check = (whose: string, sums: Sums, bound: Bound | undefined): void => {
    if (!bound) return
    const taken = sums.held + { total: sums.spent, day: sums.day, month: sums.month }[bound.per]
    if (taken > bound.amount) faults.push(`${whose} has ${bound.amount}, and ${taken} are spent and held`)
  }
  for (const key of keys) {
    check(`key ${key.id}`, key, key.bound)
    if (key.open !== key.held) faults.push(`key ${key.id} holds ${key.held}, its open charges ${key.open}`)
  }
  const compare = (account: string, own: readonly Sums[], isHeld: boolean): void => {
    const sums = accounts.get(account) ?? nothing
    for (const column of isHeld ? (['spent', 'day', 'month', 'held'] as const) : (['spent', 'day', 'month'] as const)) {
      const ofKeys = own.reduce((sum, one) => sum + one[column], 0)
      if (sums[column] !== ofKeys) faults.push(`${account}: ${column} is ${sums[column]}, of its keys ${ofKeys}`)
    }
  }
  for (const [name, own] of Map.groupBy(keys, ({ group }) => group)) {
    const bound = groups.get(name)?.budget
    compare(`group ${name}`, own, bound !== undefined)
    check(`group ${name}`, accounts.get(`group ${name}`) ?? nothing, bound)
  }
  for (const [name, own] of Map.groupBy(keys, ({ user }) => user)) {
    const user = users.get(name)
    const isOfOneGroup = new Set(own.map(({ group }) => group)).size === 1
    const bound = user?.bound ?? (isOfOneGroup ? groups.get(own[0]?.group ?? '')?.userBudget : undefined)
    compare(`user ${name}`, own, bound !== undefined && isOfOneGroup)
    check(`user ${name}`, accounts.get(`user ${name}`) ?? nothing, bound)
    const balance = user?.balance
    if (balance === undefined) continue
    const paid = accounts.get(`balance ${name}`) ?? nothing
    check(`the balance of ${name}`, paid, { amount: balance, per: 'total' })
    compare(`balance ${name}`, own, true)
  }
  return faults
}
