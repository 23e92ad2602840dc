import type { Finding } from '../config/index.ts'
import type { CompiledConfig } from '../domain/index.ts'

/**
 * What keeps a running gateway from another currency: what was spent, reserved and paid in is kept as numbers of the one
 * that it has, and would be taken for as many of the other.
 */
export function otherCurrency(before: CompiledConfig, after: CompiledConfig): Finding | undefined {
  if (before.currency === after.currency) return undefined
  return {
    severity: 'error',
    code: 'currency_changed',
    file: after.file,
    line: 1,
    col: 1,
    path: 'currency',
    message: `the gateway runs in ${before.currency}, and its budgets and balances are in that currency`,
    remedy: `restore 'currency: ${before.currency}'; to use another currency, start a gateway with a new 'storage'`,
    caret: '',
  }
}
