/** What a key has spent and holds, by its charges. */
type Totals = { spent: number; held: number }

/** What an audit has gone through so far, and what it has to say. */
export type Findings = {
  charges: number
  lines: number
  entries: number
  left: number
  readonly totals: Map<string, Totals>
  report(this: void, problem: string): void
}

export function totalsOf(findings: Findings, keyId: string): Totals {
  let totals = findings.totals.get(keyId)
  if (!totals) findings.totals.set(keyId, (totals = { spent: 0, held: 0 }))
  return totals
}
