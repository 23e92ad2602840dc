import type { LintFinding } from './finding.ts'

const levels = { error: 'error', warning: 'warning', note: 'notice' } as const

/** Findings as annotations of GitHub Actions: `::error file=…,line=…,col=…,title=…::…`, one line each. */
export function formatGithub(findings: readonly LintFinding[]): string {
  return findings
    .map(({ severity, code, file, line, col, path, message, remedy }) => {
      const place = `file=${property(file)},line=${line},col=${col},title=${property(code)}`
      const about = path === '' ? '' : `${path}: `
      const words = [`${about}${message}`, ...(remedy === undefined ? [] : [remedy])].join('\n')
      return `::${levels[severity]} ${place}::${escape(words)}`
    })
    .join('\n')
}

function escape(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return escape(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
