import { csvLine } from '../util/csv.ts'
import { formatMoney, type Micros } from '../util/units.ts'

/** The prepaid money of one user: top-ups, charges, and the remainder, before a month, in it, and after it. */
export type StatementBalance = {
  readonly user: string
  /** The group that the user is in now; empty where there is no such user any more. */
  readonly group: string
  readonly opening: Micros
  readonly topUps: number
  readonly toppedUp: Micros
  /** Charges that were taken from the balance, and what of them was given back to it. */
  readonly charged: Micros
  readonly refunded: Micros
  readonly closing: Micros
  /** The current remainder by all entries, and the balance that limits requests: two ways to one sum. */
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

/** Differences between a balance by its entries and the one that bounds requests, a sentence each. */
export function balanceDifferences(balances: readonly StatementBalance[]): readonly string[] {
  return balances
    .filter(({ counted, booked }) => counted !== booked)
    .map(
      ({ user, counted, booked }) =>
        `balance of ${user}: the ledger's entries leave ${formatMoney(counted)}, the books ${formatMoney(booked)}`,
    )
}

/** A balance as programs read it: money as text. */
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

/** A table of balances for spreadsheets, a row each, in the gateway's currency. */
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

/** As text, but for what begins with a minus: a guarded one would be no number any more. */
export function moneyCell(micros: Micros): string | number {
  return micros < 0 ? micros / 1_000_000 : formatMoney(micros)
}
