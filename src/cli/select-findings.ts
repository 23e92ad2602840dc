import type { LintFinding } from '../index.ts'

/** Notes of one kind that are shown in full; more of them would hide the findings of other kinds. */
const shownMax = 3

/**
 * Selects findings for people: the first notes of each kind, and all errors and warnings.
 * @returns the selected findings, and a sentence for each kind with more notes
 */
export function selectFindings(findings: readonly LintFinding[]): {
  readonly shown: readonly LintFinding[]
  readonly more: readonly string[]
} {
  const counts = new Map<string, number>()
  const shown = findings.filter(({ severity, code }) => {
    if (severity !== 'note') return true
    const count = (counts.get(code) ?? 0) + 1
    counts.set(code, count)
    return count <= shownMax
  })
  const more = [...counts].flatMap(([code, count]) => {
    const rest = count - shownMax
    if (rest <= 0) return []
    return [`${rest} more ${rest === 1 ? 'note' : 'notes'} of the kind ${code}: --format json prints all`]
  })
  return { shown, more }
}
