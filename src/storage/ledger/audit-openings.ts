import { before, digestOpening, type OpeningPeriod } from '../accounts/opening.ts'
import { ask, type QueryProgram } from '../query.ts'
import { toEntry } from './entries.ts'
import type { Findings } from './findings.ts'

const there = {
  key: 'SELECT id FROM key WHERE id = ?',
  account: 'SELECT name FROM account WHERE kind = ? AND name = ? LIMIT 1',
} as const

/**
 * Verifies imported spending that counts in the current day or month: each entry is unchanged, and each payer has at
 * most one per period.
 */
export function* auditOpenings({ running, report }: Findings): QueryProgram<void> {
  for (const period of ['day', 'month'] as const satisfies readonly OpeningPeriod[]) {
    const opened = new Map<string, string>()
    for (const row of yield ask('SELECT * FROM topup WHERE debit = ? ORDER BY charge_id', before[period])) {
      const entry = toEntry(row)
      const { chargeId, credit, amount, at, digest } = entry
      if (digest !== digestOpening(entry)) report(`opening ${chargeId}: was changed after the import`)
      const [kind = '', name = ''] = splitOnce(credit)
      const [payer] = yield kind === 'key' ? ask(there.key, name) : ask(there.account, kind, name)
      if (!payer) report(`${credit}: is gone, but has earlier spending of ${amount}`)
      const first = opened.get(credit)
      if (first === undefined) opened.set(credit, chargeId)
      else report(`${credit}: its earlier spending is counted twice, by ${first} and ${chargeId}`)
      running?.addOf([period], `${kind} ${name}`, amount, at)
    }
  }
}

function splitOnce(payer: string): readonly string[] {
  const at = payer.indexOf(':')
  return [payer.slice(0, at), payer.slice(at + 1)]
}
