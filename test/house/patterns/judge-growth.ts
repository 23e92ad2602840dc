import { analyse } from 'scslre'
import { attacksOn, showAttack, textOf } from './attacks.ts'
import { CountedPattern, type Pattern } from './steps.ts'

/** Twice the text may cost so many times as much: 2 and what beginnings and ends add. A square costs 4 times as much. */
const ratioMax = 2.6
const charsMin = 48
const doublings = 5

/** Why a pattern costs more than in proportion to what it reads; undefined when nothing was found that makes it. */
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
    // Most are done with at the first doubling; what a bound ends is over after some more.
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

/** Below this many characters a repetition that has to be long is not met. */
function longestNeeded({ ast }: CountedPattern): number {
  return Math.max(0, ...[...ast.raw.matchAll(/\{(\d+)/g)].map(([, times]) => Number(times)))
}
