import { styleText } from 'node:util'
import type { Finding } from './finding.ts'

/**
 * Findings for a terminal, one block each:
 *
 *     gateway.yaml:12:9  groups.default.rpm  found 'sixty', which is not a whole number
 *         default: { rpm: sixty }
 *                         ^~~~~
 *         write a whole number of at least 1
 */
export function formatFindings(findings: readonly Finding[], { color }: { readonly color: boolean }): string {
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    color ? styleText(style, text, { validateStream: false }) : text
  return findings
    .map(finding => {
      const tone = finding.severity === 'error' ? 'red' : 'cyan'
      const place = paint('bold', `${finding.file}:${finding.line}:${finding.col}`)
      const path = finding.path === '' ? '' : `  ${paint('yellow', finding.path)}`
      const note = finding.severity === 'note' ? `${paint('cyan', 'note:')} ` : ''
      const lines = [`${place}${path}  ${note}${finding.message}`]
      const [source, mark] = finding.caret.split('\n')
      if (source !== undefined && mark !== undefined) lines.push(`    ${source}`, `    ${paint(tone, mark)}`)
      if (finding.remedy !== undefined) lines.push(`    ${paint('green', finding.remedy)}`)
      return lines.join('\n')
    })
    .join('\n\n')
}
