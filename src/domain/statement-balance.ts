import { csvLine } from '../util/csv.ts'
import { formatMoney, type Micros } from '../util/units.ts'

/** The prepaid money of one user: top-ups, charges and remainder, before a month, in it, and after it. */
export type StatementBalance = {
  readonly user: string
  /** The user's current group; empty if the user no longer exists. */
  readonly group: string
  readonly opening: Micros
  readonly topUps: number
  readonly toppedUp: Micros
  /** The charges taken from the balance, and the refunds returned to it. */
  readonly charged: Micros
  readonly refunded: Micros
  readonly closing: Micros
  /** The current remainder from all entries, and the balance that limits requests: two sums that must be equal. */
  readonly counted: Micros
  readonly booked: Micros
}

/** Balances of one user, or of the users of a group. */
export function balancesOf(
  balances: readonly StatementBalance[],
  { user, group }: { readonly user?: string | undefined; readonly group?: string | undefined },
): readonly StatementBalance[] {
  return balances.filter(one => (user ?? one.user) === one.user && (group ?? one.group) === one.group)
}

/** Differences between the two sums of balances, one sentence each. */
export function balanceDifferences(balances: readonly StatementBalance[]): readonly string[] {
  return balances
    .filter(({ counted, booked }) => counted !== booked)
    .map(
      ({ user, counted, booked }) =>
        `balance of ${user}: the ledger's entries leave ${formatMoney(counted)}, the books ${formatMoney(booked)}`,
    )
}

/** The JSON form of a balance: money as text. */
export function showStatementBalance({ user, group, topUps, ...money }: StatementBalance) {
  const { opening, toppedUp, charged, refunded, closing } = money
  return {
    user,
    group,
    opening: formatMoney(opening),
    topups: topUps,
    topped_up: formatMoney(toppedUp),
    charged: formatMoney(charged),
    refunded: formatMoney(refunded),
    closing: formatMoney(closing),
  }
}

const headings = [
  'month',
  'user',
  'group',
  'currency',
  'opening',
  'topups',
  'topped_up',
  'charged',
  'refunded',
  'closing',
]

/** A CSV table of balances, one row each, in the gateway's currency. */
export function balanceTable(
  month: string,
  currency: string,
  balances: readonly StatementBalance[],
): readonly string[] {
  const rows = balances.map(({ user, group, opening, topUps, toppedUp, charged, refunded, closing }) => [
    month,
    user,
    group,
    currency,
    moneyCell(opening),
    topUps,
    ...[toppedUp, charged, refunded, closing].map(moneyCell),
  ])
  return [headings, ...rows].map(csvLine)
}

/** Amounts as text, but negative ones as numbers: the guard against formulas would turn them into text. */
export function moneyCell(micros: Micros): string | number {
  return micros < 0 ? micros / 1_000_000 : formatMoney(micros)
}
