import { csvLine } from '../util/csv.ts'
import { balanceDifferences, moneyCell, showStatementBalance, type StatementBalance } from './statement-balance.ts'
import type { StatementAccount } from './statement-account.ts'
import { showSplit, type StatementLabels, type StatementSplit } from './statement-labels.ts'
import { costsOfMonth, showStatementTotal, type StatementTotal, totalsOfAccounts } from './statement-total.ts'
import { formatMoney, type Micros } from '../util/units.ts'
import { dayIn, formatIn, momentIn } from '../util/zoned-time.ts'

/** Charges and refunds of all currencies together, as they were counted. */
export type StatementTotals = {
  readonly charges: number
  readonly charged: Micros
  readonly refunds: number
  readonly refunded: Micros
}

/** The bookings between two moments, by account. */
export type Statement = {
  /** Accounts of the charges with the requested labels. */
  readonly accounts: readonly StatementAccount[]
  /** Sums of all charges: from the charges and their lines, and from the entries of the ledger. Both must be equal. */
  readonly counted: StatementTotals
  readonly booked: StatementTotals
  /** Balances of all users who ever had a top-up, by name. */
  readonly balances: readonly StatementBalance[]
}

/**
 * The scope of a statement: charges between two moments, optionally only those of an end user and with a tag, by name.
 */
export type StatementQuery = StatementLabels & { readonly from: number; readonly until: number }

/** Whether a statement contains only some charges of each account. */
export function isOfLabel({ endUser, tag }: StatementLabels): boolean {
  return endUser !== undefined || tag !== undefined
}

/** A month in a time zone. */
export type StatementMonth = {
  readonly month: string
  readonly zone: string
  readonly from: number
  readonly until: number
}

/** Reads `2026-11`; undefined when it is no month of the years 1970 to 9998. */
export function readMonth(text: string, zone: string): StatementMonth | undefined {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (year === undefined || month === undefined || text < '1970' || text >= '9999') return undefined
  const first = { year: Number(year), month: Number(month), day: 1 }
  return { month: text, zone, from: momentIn(zone, first), until: momentIn(zone, { ...first, month: first.month + 1 }) }
}

/** The month before the current one, in a time zone. */
export function lastMonth(zone: string, now: number): StatementMonth {
  const { year, month } = dayIn(zone, now)
  const [from, until] = [momentIn(zone, { year, month: month - 1, day: 1 }), momentIn(zone, { year, month, day: 1 })]
  return { month: formatIn(zone, from).slice(0, 7), zone, from, until }
}

/** Differences between the two sums, a sentence each; none if the statement equals the ledger. */
export function differencesOf({ counted, booked, balances }: Statement): readonly string[] {
  const money = (micros: number): string => formatMoney(micros)
  const names: readonly (readonly [name: keyof StatementTotals, show: (value: number) => string])[] = [
    ['charges', String],
    ['charged', money],
    ['refunds', String],
    ['refunded', money],
  ]
  const sums = names.flatMap(([name, show]) =>
    counted[name] === booked[name]
      ? []
      : [
          `${name}: the sum of the charges is ${show(counted[name])}, the sum of the ledger's entries is ${show(booked[name])}`,
        ],
  )
  return [...sums, ...balanceDifferences(balances)]
}

/** Selects the accounts of one user or group. */
export function accountsOf(
  { accounts }: Statement,
  { user, group }: { readonly user?: string | undefined; readonly group?: string | undefined },
): readonly StatementAccount[] {
  return accounts.filter(one => (user ?? one.user) === one.user && (group ?? one.group) === one.group)
}

/** The JSON form of a statement. `organization`: its issuer, if the configuration names it. */
export function showStatement(
  { month, zone, from, until }: StatementMonth,
  found: Statement,
  {
    accounts,
    balances,
    currency,
    organization,
    split,
    labels: { endUser, tag },
    now,
  }: {
    readonly accounts: readonly StatementAccount[]
    readonly balances: readonly StatementBalance[]
    readonly currency: string
    readonly organization: string | undefined
    readonly split: StatementSplit | undefined
    readonly labels: StatementLabels
    readonly now: number
  },
) {
  return {
    month,
    zone,
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
    issued: new Date(now).toISOString(),
    organization: organization ?? null,
    end_user: endUser ?? null,
    tag: tag ?? null,
    reconciled: differencesOf(found).length === 0,
    totals: totalsOfAccounts(accounts).map(showStatementTotal),
    accounts: accounts.map(showAccount),
    currency,
    balances: balances.map(showStatementBalance),
    by: split?.by ?? null,
    labels: split ? showSplit(split) : [],
  }
}

/** The JSON form of an account: money as text. */
export function showAccount(account: StatementAccount) {
  const { opening, charged, refunded, refundedEarlier, refundedLater, closing, lines, ...same } = account
  return {
    ...same,
    opening: formatMoney(opening),
    charged: formatMoney(charged),
    refunded: formatMoney(refunded),
    refunded_earlier: formatMoney(refundedEarlier),
    refunded_later: formatMoney(refundedLater),
    closing: formatMoney(closing),
    lines: lines.map(line => ({ ...line, charged: formatMoney(line.charged), refunded: formatMoney(line.refunded) })),
  }
}

const headings = [
  'month',
  'user',
  'group',
  'currency',
  'model',
  'tier',
  'images',
  'quantity',
  'opening',
  'charged',
  'refunded',
  'closing',
  'refunded_earlier',
  'refunded_later',
  'costs',
]

/**
 * A CSV table: one row for each line; then one row for the account, which alone has opening and closing amounts; last
 * a grand total of each currency with several accounts.
 */
export function statementTable(month: StatementMonth, accounts: readonly StatementAccount[]): readonly string[] {
  // Negative amounts begin with a minus, which must not be guarded as a formula here.
  const sumsOf = (of: StatementAccount | StatementTotal) => {
    const { opening, charged, refunded, closing, refundedEarlier, refundedLater } = of
    const shown = [opening, charged, refunded, closing, refundedEarlier, refundedLater, costsOfMonth(of)]
    return ['', '', '', '', ...shown.map(moneyCell)]
  }
  const rows = accounts.flatMap(({ lines, ...account }) => {
    const { user, group, currency } = account
    const own = [month.month, user, group, currency]
    return [
      ...lines.map(line => [
        ...own,
        line.model,
        line.tier,
        line.images,
        line.quantity,
        '',
        formatMoney(line.charged),
        formatMoney(line.refunded),
        '',
        '',
        '',
        '',
      ]),
      [...own, ...sumsOf({ ...account, lines })],
    ]
  })
  const totals = totalsOfAccounts(accounts).filter(one => one.accounts > 1)
  return [headings, ...rows, ...totals.map(one => [month.month, '', '', one.currency, ...sumsOf(one)])].map(csvLine)
}
