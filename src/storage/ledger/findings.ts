import { levelKinds } from '../../domain/budget.ts'
import { heldLevels, nameOf } from '../accounts/levels.ts'
import type { BudgetCorrection } from '../../domain/index.ts'
import type { Row } from '../query.ts'
import { text } from '../rows.ts'
import type { RunningSums } from './running-sums.ts'

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
  /** Of the present day and month; undefined where they are not known. */
  readonly running: RunningSums | undefined
  /** What would make keys and accounts what their charges say. */
  readonly corrections: BudgetCorrection[]
  report(this: void, problem: string): void
}

export function totalsOf(findings: Findings, keyId: string): Totals {
  let totals = findings.totals.get(keyId)
  if (!totals) findings.totals.set(keyId, (totals = { spent: 0, held: 0 }))
  return totals
}

/** Adds what a charge cost to its key and its accounts; less than nothing for what was given back at `backAt`. */
export function addSpent(findings: Findings, charge: Row, spent: number, endedAt: number, backAt = endedAt): void {
  const key = text(charge, 'key_id')
  totalsOf(findings, key).spent += spent
  // A key is given back on the day that it was spent on, an account on the same day only.
  findings.running?.add(`key ${key}`, spent, endedAt)
  for (const account of accountsOf(charge)) {
    accountTotals(findings, account).spent += spent
    findings.running?.add(account, spent, endedAt, backAt)
  }
}

/** Adds what is held for a charge to its key, and to its accounts as far as it is held of them. */
export function addHeld(findings: Findings, charge: Row, held: number): void {
  totalsOf(findings, text(charge, 'key_id')).held += held
  for (const kind of heldLevels(charge)) accountTotals(findings, `${kind} ${nameOf(charge, kind)}`).held += held
}

/** Its user and its group, and its balance where it was taken of one. */
function accountsOf(charge: Row): readonly string[] {
  const held = heldLevels(charge)
  return levelKinds
    .filter(kind => kind !== 'balance' || held.includes(kind))
    .map(kind => `${kind} ${nameOf(charge, kind)}`)
}

function accountTotals({ accounts }: Findings, account: string): Totals {
  let totals = accounts.get(account)
  if (!totals) accounts.set(account, (totals = { spent: 0, held: 0 }))
  return totals
}
