import { type LintFinding, describeFindings } from '../index.ts'
import { allowColours, safeLines } from './safe-text.ts'

/** Findings as text for people, in colour if the terminal has colours and NO_COLOR is not set. */
export async function showFindings(findings: readonly LintFinding[]): Promise<string> {
  if (!process.stderr.isTTY || !process.stderr.hasColors()) return describeFindings(findings, { color: false })
  return allowColours(await describeFindings(findings.map(escapeFinding), { color: true }))
}

/** Findings quote the file, whose text must not control the terminal. */
function escapeFinding(finding: LintFinding): LintFinding {
  const { caret, file, message, path, remedy } = finding
  const escaped = {
    caret: safeLines(caret),
    file: safeLines(file),
    message: safeLines(message),
    path: safeLines(path),
  }
  return { ...finding, ...escaped, ...(remedy !== undefined && { remedy: safeLines(remedy) }) }
}
