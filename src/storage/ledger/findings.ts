import { alwaysBooked, levelKinds } from '../../domain/budget.ts'
import { heldLevels, nameOf } from '../accounts/levels.ts'
import type { BudgetCorrection } from '../../domain/index.ts'
import type { Row } from '../query.ts'
import { text } from '../rows.ts'
import type { RunningSums } from './running-sums.ts'

/** The spent and held amounts of a key or an account, from its charges. */
type Totals = { spent: number; held: number }

/** The state and findings of an audit. */
export type Findings = {
  charges: number
  lines: number
  entries: number
  left: number
  /** Totals by the id of a key. */
  readonly totals: Map<string, Totals>
  /** Totals by the kind and the name of an account. */
  readonly accounts: Map<string, Totals>
  /** The sums of the current day and month; undefined if unknown. */
  readonly running: RunningSums | undefined
  /** The corrections that make keys and accounts equal to their charges. */
  readonly corrections: BudgetCorrection[]
  report(this: void, problem: string): void
}

export function totalsOf(findings: Findings, keyId: string): Totals {
  let totals = findings.totals.get(keyId)
  if (!totals) findings.totals.set(keyId, (totals = { spent: 0, held: 0 }))
  return totals
}

/** Adds the cost of a charge to its key and its accounts; negative for a refund at `backAt`. */
export function addSpent(findings: Findings, charge: Row, spent: number, endedAt: number, backAt = endedAt): void {
  const key = text(charge, 'key_id')
  totalsOf(findings, key).spent += spent
  // Keys and accounts get refunds in the period of the charge; around midnight an account may already be on the next
  // day.
  findings.running?.add(`key ${key}`, spent, endedAt)
  for (const account of accountsOf(charge)) {
    accountTotals(findings, account).spent += spent
    findings.running?.add(account, spent, endedAt, backAt)
  }
}

/** Adds the hold of a charge to its key, and to its accounts if it is held from them. */
export function addHeld(findings: Findings, charge: Row, held: number): void {
  totalsOf(findings, text(charge, 'key_id')).held += held
  for (const kind of heldLevels(charge)) accountTotals(findings, `${kind} ${nameOf(charge, kind)}`).held += held
}

/** The accounts of a charge: its user and its group, and its end user and its balance if it was held from them. */
function accountsOf(charge: Row): readonly string[] {
  const held = heldLevels(charge)
  return levelKinds
    .filter(kind => alwaysBooked.has(kind) || held.includes(kind))
    .map(kind => `${kind} ${nameOf(charge, kind)}`)
}

function accountTotals({ accounts }: Findings, account: string): Totals {
  let totals = accounts.get(account)
  if (!totals) accounts.set(account, (totals = { spent: 0, held: 0 }))
  return totals
}
