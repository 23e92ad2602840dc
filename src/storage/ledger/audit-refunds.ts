import type { Entry } from './entries.ts'

/** Verifies the refunds of one charge: none is 0, their sum is at most the charge, and their numbers have no gap. */
export function auditRefunds(refunds: readonly Entry[], amount: number, report: (problem: string) => void): void {
  const sum = refunds.reduce((total, entry) => total + entry.amount, 0)
  if (sum > amount) report(`the sum of its refund entries is ${sum}, its amount is ${amount}`)
  if (refunds.some(entry => entry.amount === 0)) report('has a refund entry of 0')
  const numbers = refunds.map(({ nth }) => nth ?? 0).sort((a, b) => a - b)
  if (numbers.some((nth, i) => nth !== i)) report(`its refund entries are numbered ${numbers.join(', ')}`)
}
