import { styleText } from 'node:util'
import type { LintFinding } from './finding.ts'

const tones = { error: 'red', warning: 'yellow', note: 'cyan' } as const

/**
 * Findings for a terminal, one block each:
 *
 *     gateway.yaml:12:9  groups.default.rpm  found 'sixty', which is not a whole number
 *         default: { rpm: sixty }
 *                         ^~~~~
 *         write a whole number of at least 1
 */
export function formatFindings(findings: readonly LintFinding[], { color }: { readonly color: boolean }): string {
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    color ? styleText(style, text, { validateStream: false }) : text
  return findings
    .map(finding => {
      const tone = tones[finding.severity]
      const place = paint('bold', `${finding.file}:${finding.line}:${finding.col}`)
      const path = finding.path === '' ? '' : `  ${paint('yellow', finding.path)}`
      const kind = finding.severity === 'error' ? '' : `${paint(tone, `${finding.severity}:`)} `
      const lines = [`${place}${path}  ${kind}${finding.message}`]
      const [source, mark] = finding.caret.split('\n')
      if (source !== undefined && mark !== undefined) lines.push(`    ${source}`, `    ${paint(tone, mark)}`)
      if (finding.remedy !== undefined) lines.push(`    ${paint('green', finding.remedy)}`)
      return lines.join('\n')
    })
    .join('\n\n')
}
