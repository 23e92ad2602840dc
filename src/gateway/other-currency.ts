import type { Finding } from '../config/index.ts'
import type { CompiledConfig } from '../domain/index.ts'

/**
 * Prevents a running gateway from changing its currency: spent, held and prepaid amounts are stored as plain numbers,
 * and would become amounts of the other currency.
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
