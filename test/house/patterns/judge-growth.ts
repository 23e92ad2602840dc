import { analyse } from 'scslre'
import { attacksOn, showAttack, textOf } from './attacks.ts'
import { CountedPattern, type Pattern } from './steps.ts'

/**
 * The allowed cost factor when the text doubles: 2, plus the cost of beginnings and ends. Quadratic growth has a factor
 * of 4.
 */
const ratioMax = 2.6
const charsMin = 48
const doublings = 5

/** Returns why a pattern takes more than linear time; undefined if no such input was found. */
export function findGrowth(pattern: Pattern): string | undefined {
  return findByAnalysis(pattern) ?? findByAttack(new CountedPattern(pattern))
}

function findByAnalysis({ source, flags }: Pattern): string | undefined {
  const [report] = analyse({ source, flags }, { maxReports: 1 }).reports
  return report && `by analysis: many of ${JSON.stringify(report.character.pick)}`
}

function findByAttack(pattern: CountedPattern): string | undefined {
  const chars = Math.max(charsMin, 3 * longestNeeded(pattern))
  const stepsPerCharMax = 200 + 8 * pattern.length
  for (const attack of attacksOn(pattern)) {
    let ratio = Number.POSITIVE_INFINITY
    // Most attacks are decided at the first doubling; a bounded repetition needs some more to show that it ends.
    for (let i = 0, less = 0; i <= doublings && ratio > ratioMax; i++) {
      const text = textOf(attack, chars * 2 ** i)
      const { steps, isWhole } = pattern.search(text, text.length * stepsPerCharMax)
      if (!isWhole) return `by ${showAttack(attack)}: more than ${steps} steps for ${text.length} characters`
      if (i > 0) ratio = Math.min(ratio, steps / less)
      less = steps
    }
    if (ratio > ratioMax) return `by ${showAttack(attack)}: each doubling costs × ${ratio.toFixed(1)}`
  }
  return undefined
}

/** Below this many characters, a repetition with a large minimum does not match. */
function longestNeeded({ ast }: CountedPattern): number {
  return Math.max(0, ...[...ast.raw.matchAll(/\{(\d+)/g)].map(([, times]) => Number(times)))
}
