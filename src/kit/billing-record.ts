import { type Account, type AccountRow, chargerOf } from './account.ts'
import { type Charge, decidedTier, type Line, type TierSource } from './charge.ts'
import type { KnownPlugin } from './plugin-facts.ts'
import { formatMoney } from './units.ts'

/** The billing part of a log record. Programs read it: its fields are not renamed. */
export type BillingRecord = {
  readonly state: Charge['state']
  readonly size: string | null
  readonly quality: string | null
  /** Of images and the like; null for what is not taken one by one. */
  readonly count: number | null
  readonly tier: string | null
  readonly source: TierSource | null
  readonly actual_size: string | null
  readonly currency: string
  readonly amount: string
  /** What is held for it now: of a charge that is open, or under review with its hold kept. */
  readonly held: string
  readonly refunded: string
  readonly flags: readonly string[]
  readonly warnings: readonly string[]
  readonly reason: string | null
  readonly delivery: Charge['delivery']
  readonly lines: readonly {
    readonly index: number
    readonly tier: string
    readonly source: TierSource
    readonly width: number | null
    readonly height: number | null
    /** How many of what `tier` names were used; null for an image. */
    readonly quantity: number | null
    readonly price: string
    readonly flags: readonly string[]
    /** Why this price, in words. */
    readonly why: string
    /** `file:line` of the price that was applied. */
    readonly at: string | null
  }[]
  readonly text: string
  /** `2 × 0.04 = 0.08 USD`. */
  readonly sum: string
  /** What the price was taken from: the rows as they were then, and how one of them was chosen, in words. */
  readonly rule: {
    readonly kind: string
    readonly text: string
    readonly rows: readonly AccountRow[]
    /** Whether the group's factor was applied. */
    readonly multiplier: string
  }
}

/** The labels of `docs/rules.md#the-record-of-a-charge`, as the console prints them. */
export const sourceLabels: { readonly [source in TierSource]: string } = {
  output: '输出尺寸',
  request: '请求尺寸',
  default: '默认',
}

/**
 * The one explanation of a charge. The log record, the details view, `GET /v1/charges/{id}` and the command line all
 * print this; none computes its own. `known`: the plugins that may have made it (`plan.plugins.known`).
 */
export function billingRecord(charge: Charge, known: readonly KnownPlugin[]): BillingRecord {
  const { lines } = charge
  const account = chargerOf(known, charge)?.record?.(charge) ?? plainAccount(charge)
  const byItem = account.count !== null
  const amount = formatMoney(charge.amount)
  return {
    state: charge.state,
    size: charge.size,
    quality: charge.quality,
    count: account.count,
    tier: byItem ? same(lines.map(line => line.tier)) : null,
    source: byItem ? same(lines.map(line => line.source)) : null,
    actual_size: same(lines.map(line => actualSize(line))),
    currency: charge.currency,
    amount,
    held: formatMoney(charge.held),
    refunded: formatMoney(charge.refunded),
    flags: [...new Set(lines.flatMap(line => line.flags))],
    warnings: charge.rule.warnings,
    reason: charge.reason,
    delivery: charge.delivery,
    lines: lines.map(line => recordLine(charge, account, line)),
    text: account.text,
    sum: sumText(charge, amount),
    rule: { kind: charge.rule.kind, ...account.rule },
  }
}

function recordLine(charge: Charge, account: Account, line: Line): BillingRecord['lines'][number] {
  const { index, tier, source, width, height, quantity, flags } = line
  const { why, at } =
    tier === decidedTier
      ? { why: `decided by a person: ${charge.reason ?? 'no reason given'}`, at: null }
      : account.line(line)
  return { index, tier, source, width, height, quantity, price: formatMoney(line.price), flags, why, at }
}

/** What can be said of any charge: of one whose plugin is gone, or says nothing. */
function plainAccount({ lines, rule }: Charge): Account {
  const nameOf = ({ tier, quantity }: Line): string => (quantity === null ? tier : `${tier} ${quantity}`)
  return {
    text: lines.length === 0 ? '-' : lines.map(nameOf).join(', '),
    count: null,
    rule: { text: `by a rule '${rule.kind}' that no plugin here explains`, rows: [], multiplier: '' },
    line: line => ({ why: nameOf(line), at: null }),
  }
}

/** The size of what a line is for, read from its bytes: `<width>x<height>`. */
export function actualSize(line: Line): string | null {
  return line.width === null || line.height === null ? null : `${line.width}x${line.height}`
}

/** The one value that all share, else null. */
function same<T>(values: readonly T[]): T | null {
  const [first] = values
  return first !== undefined && values.every(value => value === first) ? first : null
}

function sumText({ lines, currency }: Charge, amount: string): string {
  const counts = new Map<string, number>()
  for (const line of lines) {
    const price = formatMoney(line.price)
    counts.set(price, (counts.get(price) ?? 0) + 1)
  }
  const parts = [...counts].map(([price, count]) => (count === 1 ? price : `${count} × ${price}`))
  return parts.length === 0 ? `${amount} ${currency}` : `${parts.join(' + ')} = ${amount} ${currency}`
}
