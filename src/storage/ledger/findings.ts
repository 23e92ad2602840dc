import { levelKinds } from '../../kit/budget.ts'
import { heldLevels, nameOf } from '../accounts/levels.ts'
import type { Row } from '../query.ts'

/** What a key has spent and holds, by its charges. */
type Totals = { spent: number; held: number }

/** What an audit has gone through so far, and what it has to say. */
export type Findings = {
  charges: number
  lines: number
  entries: number
  left: number
  /** By the id of a key. */
  readonly totals: Map<string, Totals>
  /** By the kind and the name of an account. */
  readonly accounts: Map<string, Totals>
  report(this: void, problem: string): void
}

export function totalsOf(findings: Findings, keyId: string): Totals {
  let totals = findings.totals.get(keyId)
  if (!totals) findings.totals.set(keyId, (totals = { spent: 0, held: 0 }))
  return totals
}

/** Adds to what a charge's user and group come to, and its balance where it was taken of one. */
export function addToAccounts(findings: Findings, charge: Row, spent: number, held: number): void {
  const own = heldLevels(charge)
  for (const kind of levelKinds) {
    if (kind === 'balance' && !own.includes(kind)) continue
    const account = `${kind} ${nameOf(charge, kind)}`
    let totals = findings.accounts.get(account)
    if (!totals) findings.accounts.set(account, (totals = { spent: 0, held: 0 }))
    totals.spent += spent
    if (own.includes(kind)) totals.held += held
  }
}
