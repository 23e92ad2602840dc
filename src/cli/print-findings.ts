import { type LintFinding, reportFindings } from '../index.ts'
import { print, say } from './exit.ts'
import { selectFindings } from './select-findings.ts'
import { showFindings } from './show-findings.ts'

/** Writes findings in the requested format. Text shows only some notes of each kind; the other formats have all. */
export async function printFindings(findings: readonly LintFinding[], format: string): Promise<void> {
  if (format === 'json') for (const finding of findings) print(JSON.stringify(finding))
  else if (format === 'sarif') print(await reportFindings(findings, format))
  else if (findings.length === 0) return
  else if (format === 'github') print(await reportFindings(findings, format))
  else {
    const { shown, more } = selectFindings(findings)
    say(await showFindings(shown))
    if (more.length > 0) say(more.join('\n'))
  }
}
