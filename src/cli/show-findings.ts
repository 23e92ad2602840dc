import { type LintFinding, describeFindings } from '../index.ts'
import { keepColours, writeLines } from './write-out.ts'

/** Findings as text for people, in colour if the terminal has colours and NO_COLOR is not set. */
export async function showFindings(findings: readonly LintFinding[]): Promise<string> {
  if (!process.stderr.isTTY || !process.stderr.hasColors()) return describeFindings(findings, { color: false })
  return keepColours(await describeFindings(findings.map(escapeFinding), { color: true }))
}

/** Findings quote the file, whose text must not control the terminal. */
function escapeFinding(finding: LintFinding): LintFinding {
  const { caret, file, message, path, remedy } = finding
  const escaped = {
    caret: writeLines(caret),
    file: writeLines(file),
    message: writeLines(message),
    path: writeLines(path),
  }
  return { ...finding, ...escaped, ...(remedy !== undefined && { remedy: writeLines(remedy) }) }
}
