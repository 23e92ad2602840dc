import { formatMoney, type Micros } from '../util/units.ts'
import type { StatementAccount } from './statement.ts'

/** All accounts of a statement in one currency. */
export type StatementTotal = Omit<StatementAccount, 'user' | 'group' | 'lines'> & { readonly accounts: number }

const sums = [
  'opening',
  'charges',
  'charged',
  'refunds',
  'refunded',
  'refundedEarlier',
  'refundedLater',
  'closing',
] as const satisfies readonly (keyof StatementAccount)[]

/** A grand total for each currency, by its code. */
export function totalsOfAccounts(accounts: readonly StatementAccount[]): readonly StatementTotal[] {
  return [...Map.groupBy(accounts, ({ currency }) => currency)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, some]) => {
      const total = (name: (typeof sums)[number]): number => some.reduce((sum, one) => sum + one[name], 0)
      const [opening, charges, charged, refunds] = [
        total('opening'),
        total('charges'),
        total('charged'),
        total('refunds'),
      ]
      const [refunded, closing] = [total('refunded'), total('closing')]
      const [refundedEarlier, refundedLater] = [total('refundedEarlier'), total('refundedLater')]
      const numbers = { opening, charges, charged, refunds, refunded, refundedEarlier, refundedLater, closing }
      return { currency, accounts: some.length, ...numbers }
    })
}

type OfMonth = Pick<StatementAccount, 'charged' | 'refunded' | 'refundedEarlier' | 'refundedLater'>

/**
 * What the same charges come to in Costs, which books a refund in the month of its charge: without the refunds of the
 * month for earlier charges, and less those that were given later.
 */
export function costsOfMonth({ charged, refunded, refundedEarlier, refundedLater }: OfMonth): Micros {
  return charged - (refunded - refundedEarlier) - refundedLater
}

/** A grand total as programs read it: money as text. */
export function showStatementTotal(total: StatementTotal) {
  const { currency, accounts, charges, refunds, opening, charged, refunded, refundedEarlier, refundedLater, closing } =
    total
  return {
    currency,
    accounts,
    opening: formatMoney(opening),
    charges,
    charged: formatMoney(charged),
    refunds,
    refunded: formatMoney(refunded),
    closing: formatMoney(closing),
    refunded_earlier: formatMoney(refundedEarlier),
    refunded_later: formatMoney(refundedLater),
    net: formatMoney(charged - refunded),
    costs: formatMoney(costsOfMonth(total)),
  }
}
