import { type LintFinding, describeFindings } from '../index.ts'

/** Findings as words for people, in colour where their terminal has some and NO_COLOR is not set. */
export async function showFindings(findings: readonly LintFinding[]): Promise<string> {
  return describeFindings(findings, { color: process.stderr.isTTY && process.stderr.hasColors() })
}
