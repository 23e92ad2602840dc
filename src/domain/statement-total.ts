import { formatMoney, type Micros } from '../util/units.ts'
import type { StatementAccount } from './statement-account.ts'

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
 * The costs of the same charges on the page Costs, which books a refund in the month of its charge: refunds of this
 * month for earlier charges do not count, and later refunds of this month's charges do.
 */
export function costsOfMonth({ charged, refunded, refundedEarlier, refundedLater }: OfMonth): Micros {
  return charged - (refunded - refundedEarlier) - refundedLater
}

/** The JSON form of a grand total: money as text. */
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
