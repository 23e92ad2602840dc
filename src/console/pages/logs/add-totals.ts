import type { LogTotals } from '../../api/shapes.ts'
import { amountOf, microsOf } from '../../money.ts'

/** Adds two answers: the newer one, and the one before it. */
export function addTotals(newer: LogTotals, older: LogTotals): LogTotals {
  const currencies = new Set([...newer.sums, ...older.sums].map(({ currency }) => currency))
  return {
    requests: newer.requests + older.requests,
    errors: newer.errors + older.errors,
    charges: newer.charges + older.charges,
    images: newer.images + older.images,
    sums: [...currencies].sort().map(currency => {
      const some = [newer, older].flatMap(({ sums }) => sums.filter(one => one.currency === currency))
      const add = (name: 'amount' | 'refunded' | 'net'): string =>
        amountOf(some.reduce((sum, one) => sum + microsOf(one[name]), 0n))
      return { currency, amount: add('amount'), refunded: add('refunded'), net: add('net') }
    }),
    since: older.since,
    next: older.next,
  }
}
